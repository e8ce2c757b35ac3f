/// What has been asked of the app's backend for one connection, by number.
struct Tickets {
    /// What an answer is for.
    enum Purpose: Equatable {
        case join(String)
        case secret(String)
        case user
    }

    private var purposes: [Int: Purpose] = [:]
    private var last = 0

    /// Notes a request; no two have the same number.
    mutating func add(_ purpose: Purpose) -> Int {
        last += 1
        purposes[last] = purpose
        return last
    }

    /// Takes a request out; `nil` for one that nobody waits for any more.
    mutating func remove(_ number: Int) -> Purpose? { purposes.removeValue(forKey: number) }

    /// Takes all requests out.
    mutating func removeAll() -> [Int] {
        defer { purposes = [:] }
        return purposes.keys.sorted()
    }
}

extension ClientSession {
    /// Takes what became of a request for a channel.
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
        case .secret(let channel) where subscriptions[of: channel]?.seal.ticket == ticket:
            secretCame(for: channel, outcome)
        case nil, .join, .secret, .user: break
        }
        return takeEffects()
    }

    /// Lets go of what a channel waits for.
    mutating func abandonTicket(of channel: String) {
        var abandoned: [Int] = []
        if case .authorizing(let ticket) = subscriptions[channel] { abandoned.append(ticket) }
        if let ticket = subscriptions[of: channel]?.seal.ticket { abandoned.append(ticket) }
        for ticket in abandoned { _ = tickets.remove(ticket) }
        forgetTickets(abandoned)
    }

    mutating func forgetTickets(_ tickets: [Int]) {
        guard !tickets.isEmpty else { return }
        effects.append(.forget(tickets: tickets))
    }
}
