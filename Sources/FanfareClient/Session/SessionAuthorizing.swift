/// The requests to the app's backend for one connection, by number.
struct Tickets {
    /// The purpose of a request.
    enum Purpose: Equatable {
        case join(String)
        case secret(String)
        case user
    }

    private var purposes: [Int: Purpose] = [:]
    private var last = 0

    /// Adds a request and returns its unique number.
    mutating func add(_ purpose: Purpose) -> Int {
        last += 1
        purposes[last] = purpose
        return last
    }

    /// Removes a request; `nil` if it was cancelled.
    mutating func remove(_ number: Int) -> Purpose? { purposes.removeValue(forKey: number) }

    /// Removes all requests.
    mutating func removeAll() -> [Int] {
        defer { purposes = [:] }
        return purposes.keys.sorted()
    }
}

extension ClientSession {
    /// Handles the outcome of a request for a channel.
    mutating func authorized(
        _ ticket: Int,
        _ outcome: Result<ChannelAuthorization, AuthorizationFailure>
    ) -> [SessionEffect] {
        switch tickets.remove(ticket) {
        case .join(let channel) where subscriptions[channel] == .authorizing(ticket):
            switch outcome {
            case .success(let authorization): subscribe(channel, authorizedBy: authorization)
            case .failure(let failure):
                refuse(channel, .authorizationFailed(channel: channel, failure))
            }
        case .secret(let channel) where subscriptions[of: channel]?.decryption.ticket == ticket:
            receiveSecret(for: channel, outcome)
        case nil, .join, .secret, .user: break
        }
        return takeEffects()
    }

    /// Cancels the requests of a channel.
    mutating func cancelTickets(of channel: String) {
        var cancelled: [Int] = []
        if case .authorizing(let ticket) = subscriptions[channel] { cancelled.append(ticket) }
        if let ticket = subscriptions[of: channel]?.decryption.ticket { cancelled.append(ticket) }
        for ticket in cancelled { _ = tickets.remove(ticket) }
        cancelTickets(cancelled)
    }

    mutating func cancelTickets(_ tickets: [Int]) {
        guard !tickets.isEmpty else { return }
        effects.append(.cancel(tickets: tickets))
    }
}
