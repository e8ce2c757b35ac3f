import PusherProtocol

/// How a session loses its connection, and what follows from that.
extension ClientSession {
    /// Gives the connection up from this side.
    mutating func fail(_ error: FanfareError, close code: UInt16, at now: Duration) {
        effects.append(.close(code: code, reason: ""))
        lose(error, .backOff, at: now)
    }

    /// Loses the connection with a code of the protocol, which says how to go on.
    mutating func lose(code: PusherCode, reason: String, at now: Duration) {
        let text = reason.isEmpty ? code.message : reason
        // Codes below 1000 mean nothing that could be better next time.
        guard code.reconnection != .never, code.rawValue >= 1000 else {
            return lose(.refused(code: code.rawValue, message: text), .never, at: now)
        }
        lose(
            .closed(code: code.rawValue, reason: text),
            code.reconnection,
            at: now,
            isOverload: (4100..<4200).contains(code.rawValue)
        )
    }

    mutating func lose(
        _ error: FanfareError,
        _ reconnection: PusherCode.Reconnection,
        at now: Duration,
        isOverload: Bool = false
    ) {
        if case .connected(let since) = phase, now - since >= Self.stableAfter { failures = 0 }
        endConnection()
        announced = nil
        let isLast = settings.attemptCountMax.map { failures + 1 > $0 } ?? false
        guard reconnection != .never, settings.reconnects, !isLast else {
            phase = .failed
            subscriptions.forgetMembers()
            dropClientEvents(because: error)
            effects.append(.stopTimer)
            return change(to: .failed(because: error))
        }
        if reconnection == .immediately, failures == 0 {
            failures = 1
            return open()
        }
        var delay = settings.backoff.delay(failures: failures, using: &generator)
        if isOverload { delay = max(delay, .seconds(1)) }
        failures += 1
        phase = .waiting
        effects.append(.startTimer(delay))
        change(to: .waiting(delay: delay, because: error))
    }

    mutating func open() {
        phase = .opening
        announced = nil
        change(to: .connecting(attempt: failures + 1))
        effects += [.open, .startTimer(settings.connectTimeout)]
    }

    /// Forgets what held for the connection that has ended.
    mutating func endConnection() {
        subscriptions.end()
        forgetTickets(tickets.removeAll())
        endSignIn()
        if outbox.isWaiting { effects.append(.stopAlarm(.clientEvents)) }
        outbox.isWaiting = false
    }
}
