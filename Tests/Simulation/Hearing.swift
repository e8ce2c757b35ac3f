import PusherProtocol

/// What the client hears, against what it has to hear.
extension Conversation {
    /// Takes in what the client has seen.
    func see(_ sighting: SimulatedClient.Sighting) throws(Violation) {
        if closeCode != nil { throw broken(.closing, "was sent something behind a close frame") }
        switch sighting {
        case .ping(let payload): answer(payload)
        case .pong: try settle("a pong frame") { if case .pongFrame = $0 { true } else { false } }
        case .close(let code): try seeClose(code)
        case .message(let message): try hear(message)
        }
    }

    func broken(_ invariant: Invariant, _ text: String) -> Violation {
        Violation(invariant, "\(name) \(text)")
    }

    private func hear(_ message: ServerMessage) throws(Violation) {
        if let farewell { throw broken(.closing, "heard \(message) behind error \(farewell)") }
        if owesRefusal {
            guard case .error(nil, _) = message else {
                throw broken(.answers, "heard \(message) in place of a refusal's error")
            }
            owesRefusal = false
            return
        }
        try checkOpening(message)
        switch message {
        case .connectionEstablished(let id, _): try establish(id)
        case .error(let code, let text): try hear(error: code?.rawValue, text)
        case .pong: try settlePong()
        case .subscriptionSucceeded(let channel, let data): try hear(grant: data, on: channel)
        case .subscriptionError(let channel, let type, let text, _):
            try hear(refusal: type, text, on: channel)
        case .subscriptionCount(let channel, let count):
            try hear(count: count, try tenure(channel, message))
        case .memberAdded(let channel, let user, let info):
            try hear(arrival: user, info, try tenure(channel, message))
        case .memberRemoved(let channel, let user):
            try hear(departure: user, try tenure(channel, message))
        case .cacheMiss(let channel): try hear(missOf: try tenure(channel, message))
        case .signinSuccess(let data):
            var watching: [Int] = []
            try settle("sign-in as \(data)") { debt in
                guard case .signedIn(data, let users) = debt else { return false }
                watching = users
                return true
            }
            world.meet(.signIn)
            watched = Set(watching)
            presences = presences.filter { watched.contains($0.key) }
        case .watchlist(let online, let offline): try hear(online: online, offline: offline)
        case .event(let event): try hear(event, message)
        case .ping:
            throw broken(.answers, "was asked for a pong, which it was told to ask for itself")
        }
    }

    private func establish(_ id: SocketID) throws(Violation) {
        guard socketID == nil else { throw broken(.answers, "was greeted twice") }
        socketID = id.description
        establishedAt = world.now
    }

    // MARK: - Users

    private func hear(online: [String], offline: [String]) throws(Violation) {
        world.meet(.watchlist)
        for (users, isOnline) in [(online, true), (offline, false)] {
            for user in users {
                guard let index = Cast.users.firstIndex(of: user), watched.contains(index) else {
                    throw broken(.users, "was told of \(user), whom it does not watch")
                }
                guard presences[index] != isOnline else {
                    throw broken(
                        .users,
                        "was told twice that \(user) is \(isOnline ? "there" : "gone")"
                    )
                }
                presences[index] = isOnline
            }
        }
    }
}
