/// The end of a connection, and its legitimate reasons.
extension ClientModel {
    /// Disconnects without a close frame.
    func leave(isReset: Bool) {
        guard !isGone else { return }
        recordContact()
        if isReset {
            transport.pipe.close()
            isGone = true
        } else {
            transport.pipe.finish()
        }
        hasLeft = true
    }

    /// Handles a close frame.
    func receiveClose(_ code: Int?) throws(Violation) {
        if let closingError, closingError != code {
            throw broken(.closing, "was closed with \(code ?? 0) after error \(closingError)")
        }
        closeCode = code ?? 0
        world.reach(.close(code ?? 0))
        if let reason = objection(to: code ?? 0) { throw broken(.closing, reason) }
        // The client answers, and then waits for the broker to close.
        transport.sendClose(mask: 0x5A5A_5A5A)
    }

    /// Handles the end of the stream.
    func receiveEnd() throws(Violation) {
        guard !isGone else { return }
        isGone = true
        transport.pipe.close()
        guard closeCode == nil, !hasLeft else { return }
        world.reach(.cut)
        // A draining broker drops connections without a request.
        let isEarly = socketID == nil && world.isDraining
        guard wasStalled || isEarly else {
            throw broken(.closing, "was disconnected without a close frame")
        }
    }

    /// Releases references, to break cycles.
    func releaseReferences() {
        subscriptions = [:]
        expectations = []
        events = []
    }

    /// The reason why the close is a violation; `nil` if it is legitimate.
    private func objection(to code: Int) -> String? {
        switch code {
        case 1000 where hasLeft: return nil
        case _ where dueCodes?.contains(code) == true: return nil
        case 4001, 4003:
            return rules.isEnabled && !world.hasClosedApps ? "received error \(code)" : nil
        case 4004:
            let count = world.allClients.count { $0.app == app && $0.mayCountTowardsQuota }
            return count > rules.connectionsMax ? nil : "found \(count) connections too many"
        case 4009 where mayBeTerminated: return nil
        case 4009:
            guard let authorizationTimeout = rules.authorizationTimeout else { break }
            let seconds = (world.now - connectedAt) / 1_000
            return seconds >= authorizationTimeout
                ? nil : "had to be authorized within \(seconds) seconds"
        case 4100 where world.isFlooding && hasLargeBuffer && !wasStalled:
            return "was closed although it reads everything"
        case 4100:
            return pendingBytes > Scenario.queuedBytesMax / 2
                ? nil : "was closed for \(pendingBytes) bytes"
        case 4200 where world.isDraining: return nil
        case 4201:
            return silenceMax >= Scenario.activityTimeout + Scenario.pongTimeout
                ? nil : "was closed after \(silenceMax) seconds of silence"
        default: break
        }
        return "was closed with \(code) for no reason"
    }

    /// Whether the connection may count towards the app's quota.
    var mayCountTowardsQuota: Bool {
        rules.authorizationTimeout == nil || isAuthorized
    }

    /// The reason why the connection should have been closed by now; `nil` if there is none.
    var overdueClose: String? {
        guard socketID != nil, !isGone else { return nil }
        if hasLeft { return "has left" }
        if let dueCodes { return "was to be closed with \(dueCodes)" }
        if isTerminated { return "was to be closed for its user" }
        if !rules.isEnabled { return "was to be closed with its app" }
        if closeCode != nil { return "was closed with \(closeCode ?? 0), and the socket was not" }
        if silence > Scenario.silenceMax { return "has been silent for \(silence) seconds" }
        if let authorizationTimeout = rules.authorizationTimeout, !isAuthorized, let establishedAt,
            world.now - establishedAt > (authorizationTimeout + 5) * 1_000
        {
            return "was to be closed without authorization"
        }
        return nil
    }
}
