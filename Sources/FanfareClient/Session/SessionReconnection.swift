import PusherProtocol

/// The loss of a connection, and the reconnection.
extension ClientSession {
    /// Closes the connection after an error on this side.
    mutating func fail(_ error: FanfareError, close code: UInt16, at now: Duration) {
        effects.append(.close(code: code, reason: ""))
        lose(error, .backOff, at: now)
    }

    /// Handles the loss of the connection with a close code of the protocol, which determines the reconnection.
    mutating func lose(code: PusherCode, reason: String, at now: Duration) {
        let text = reason.isEmpty ? code.message : reason
        // Codes below 1000 are not close codes: a retry would not help.
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
        pendingError = nil
        let isLast = settings.attemptCountMax.map { failures + 1 > $0 } ?? false
        guard reconnection != .never, settings.reconnects, !isLast else {
            phase = .failed
            subscriptions.clearMembers()
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
        pendingError = nil
        change(to: .connecting(attempt: failures + 1))
        effects += [.open, .startTimer(settings.connectTimeout)]
    }

    /// Resets the state that belongs to the ended connection.
    mutating func endConnection() {
        for channel in subscriptions.channels where subscriptions[channel] == .postponed {
            effects.append(.stopAlarm(.subscription(channel)))
        }
        subscriptions.end()
        cancelTickets(tickets.removeAll())
        endSignIn()
        if outbox.isWaiting { effects.append(.stopAlarm(.clientEvents)) }
        outbox.isWaiting = false
        if outbox.isTimed { effects.append(.stopAlarm(.receipts)) }
        outbox.isTimed = false
        outbox.connectionEnded()
    }
}
