/// How a connection ends, and whether it had to.
extension Conversation {
    /// Goes without a word.
    func leave(isReset: Bool) {
        guard !isGone else { return }
        if isReset {
            client.pipe.close()
            isGone = true
        } else {
            client.pipe.finish()
        }
        hasLeft = true
    }

    /// Takes in a close frame.
    func seeClose(_ code: Int?) throws(Violation) {
        if let farewell, farewell != code {
            throw broken(.closing, "was closed with \(code ?? 0) after error \(farewell)")
        }
        closeCode = code ?? 0
        world.meet(.close(code ?? 0))
        if let reason = objection(to: code ?? 0) { throw broken(.closing, reason) }
        // A client that is told to go answers, and then waits for the broker to close.
        client.sayClose(mask: 0x5A5A_5A5A)
    }

    /// Takes in that the broker has closed the socket.
    func seeEnd() throws(Violation) {
        guard !isGone else { return }
        isGone = true
        client.pipe.close()
        guard closeCode == nil, !hasLeft else { return }
        world.meet(.cut)
        // A broker that stops drops whoever has asked for nothing yet.
        let isEarly = socketID == nil && world.isDraining
        guard wasStalled || isEarly else { throw broken(.closing, "was cut off without a word") }
    }

    /// Lets go of what refers to the conversation.
    func forget() {
        tenures = [:]
        debts = []
        events = []
    }

    /// What speaks against the close; `nil` when there is a reason for it.
    private func objection(to code: Int) -> String? {
        switch code {
        case 1000 where hasLeft: return nil
        case _ where dueCodes?.contains(code) == true: return nil
        case 4001, 4003: return rules.isEnabled && !world.hasClosedApps ? "was told \(code)" : nil
        case 4004:
            let count = world.everyone.count { $0.app == app && $0.mayHavePlace }
            return count > rules.connectionsMax ? nil : "found \(count) connections too many"
        case 4009 where mayBeTerminated: return nil
        case 4009:
            guard let probation = rules.probation else { break }
            let seconds = (world.now - connectedAt) / 1_000
            return seconds >= probation ? nil : "had to prove itself within \(seconds) seconds"
        case 4100 where world.isFlooding && takesMuch && !wasStalled:
            return "was closed although it reads whatever comes"
        case 4100:
            return owedBytes > Cast.queuedBytesMax / 2 ? nil : "was closed for \(owedBytes) bytes"
        case 4200 where world.isDraining: return nil
        case 4201:
            return silenceMax >= Cast.activityTimeout + Cast.pongTimeout
                ? nil : "was given up after \(silenceMax) seconds of silence"
        default: break
        }
        return "was closed with \(code) for no reason"
    }

    /// Whether the connection may count towards its app's quota, as far as anybody knows from outside.
    var mayHavePlace: Bool {
        rules.probation == nil || hasProved
    }

    /// What should have ended the connection, now that everything has arrived; `nil` when it may stand.
    var overdueEnd: String? {
        guard socketID != nil, !isGone else { return nil }
        if hasLeft { return "has left" }
        if let dueCodes { return "was to be closed with \(dueCodes)" }
        if isTerminated { return "was to be closed for its user" }
        if !rules.isEnabled { return "was to be closed with its app" }
        if closeCode != nil { return "was closed with \(closeCode ?? 0), and the socket was not" }
        if silence > Cast.silenceMax { return "has been silent for \(silence) seconds" }
        if let probation = rules.probation, !hasProved, let establishedAt,
            world.now - establishedAt > (probation + 5) * 1_000
        {
            return "has proved nothing"
        }
        return nil
    }
}
