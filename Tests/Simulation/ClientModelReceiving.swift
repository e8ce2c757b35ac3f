import PusherProtocol

/// Checks of what a client receives.
extension ClientModel {
    /// Handles a received frame.
    func receive(_ frame: SimulatedClient.ReceivedFrame) throws(Violation) {
        if closeCode != nil { throw broken(.closing, "received data after a close frame") }
        switch frame {
        case .ping(let payload): answer(payload)
        case .pong: try match("a pong frame") { if case .pongFrame = $0 { true } else { false } }
        case .close(let code): try receiveClose(code)
        case .message(let message): try receive(message)
        }
    }

    func broken(_ invariant: Invariant, _ text: String) -> Violation {
        Violation(invariant, "\(name) \(text)")
    }

    private func receive(_ message: ServerMessage) throws(Violation) {
        if let closingError {
            throw broken(.closing, "received \(message) after error \(closingError)")
        }
        if awaitsRefusalError {
            guard case .error(nil, _) = message else {
                throw broken(.answers, "received \(message) in place of a refusal's error")
            }
            awaitsRefusalError = false
            return
        }
        try checkOpening(message)
        switch message {
        case .connectionEstablished(let id, _, _): try establish(id)
        case .error(let code, let text): try receive(error: code?.rawValue, text)
        case .pong: try matchPong()
        case .subscriptionSucceeded(let channel, let data): try receive(grant: data, on: channel)
        case .subscriptionError(let channel, let type, let text, _):
            try receive(refusal: type, text, on: channel)
        case .subscriptionCount(let channel, let count):
            try receive(count: count, try subscription(channel, message))
        case .memberAdded(let channel, let user, let info):
            try receive(arrival: user, info, try subscription(channel, message))
        case .memberRemoved(let channel, let user):
            try receive(departure: user, try subscription(channel, message))
        case .cacheMiss(let channel): try receive(missOf: try subscription(channel, message))
        case .signinSuccess(let data):
            var watching: [Int] = []
            try match("sign-in as \(data)") { expectation in
                guard case .signedIn(data, let users) = expectation else { return false }
                watching = users
                return true
            }
            world.reach(.signIn)
            watched = Set(watching)
            presences = presences.filter { watched.contains($0.key) }
        case .watchlist(let online, let offline): try receive(online: online, offline: offline)
        case .event(let event): try receive(event, message)
        case .position(let channel, let serial?, nil):
            try receive(number: serial, try subscription(channel, message))
        case .position:
            throw broken(.answers, "received \(message) without a key in its event")
        case .ping: answerPing()
        }
    }

    private func establish(_ id: SocketID) throws(Violation) {
        guard socketID == nil else {
            throw broken(.answers, "received connection_established twice")
        }
        socketID = id.description
        establishedAt = world.now
    }

    // MARK: - Users

    private func receive(online: [String], offline: [String]) throws(Violation) {
        world.reach(.watchlist)
        for (users, isOnline) in [(online, true), (offline, false)] {
            for user in users {
                guard let index = Scenario.users.firstIndex(of: user), watched.contains(index)
                else {
                    throw broken(
                        .users,
                        "received the presence of \(user), which it does not watch"
                    )
                }
                guard presences[index] != isOnline else {
                    throw broken(
                        .users,
                        "received twice that \(user) is \(isOnline ? "online" : "offline")"
                    )
                }
                presences[index] = isOnline
            }
        }
    }
}
