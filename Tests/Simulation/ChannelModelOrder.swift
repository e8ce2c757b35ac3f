/// Checks of a channel's order, which no single client sees completely.
extension ChannelModel {
    /// Checks that the subscribers have received parts of one sequence, without gaps.
    ///
    /// Each receives a part: from its grant to its end, without what excludes it. So two subscribers receive common
    /// items in the same order, and everything between two common items is common, too.
    func checkOrder() throws(Violation) {
        let granted = subscriptions.filter { !$0.tokens.isEmpty }
        for one in granted {
            for other in granted where other !== one { try compare(one, other) }
            try checkPairs(one)
        }
        for subscription in subscriptions where subscription.opening != nil {
            try checkOpening(subscription, granted)
        }
    }

    private func compare(_ one: SubscriptionModel, _ other: SubscriptionModel) throws(Violation) {
        var places: [Token: Int] = [:]
        for (place, token) in other.tokens.enumerated() { places[token] = place }
        var last: (token: Token, place: Int)?
        var between: [Token] = []
        for token in one.tokens {
            guard let place = places[token] else {
                between.append(token)
                continue
            }
            if let last {
                guard last.place < place else {
                    throw other.client.broken(
                        .order,
                        "saw \(token.text) before \(last.token.text) on \(name); \(one.client.name) the other way"
                    )
                }
                if let missed = between.first(where: { !isExcluded($0, other) }) {
                    throw other.client.broken(
                        .once,
                        "has missed \(missed.text) on \(name), which \(one.client.name) received between two items that both have"
                    )
                }
            }
            last = (token, place)
            between = []
        }
    }

    private func isExcluded(_ token: Token, _ subscription: SubscriptionModel) -> Bool {
        token.event.flatMap { subscription.client.world.publications[$0] }?
            .excludes(subscription.client) == true
    }

    /// Checks the pairs of events whose order is certain.
    private func checkPairs(_ subscription: SubscriptionModel) throws(Violation) {
        var places: [Int: Int] = [:]
        for (place, token) in subscription.tokens.enumerated() {
            if let event = token.event { places[event] = place }
        }
        for (earlier, later) in pairs {
            guard let first = places[earlier], let second = places[later], second < first else {
                continue
            }
            throw subscription.client.broken(
                .order,
                "saw event \(later) before event \(earlier) on \(name), which was published first"
            )
        }
    }

    /// Checks that no backend event is missing between the cached event and the first live one.
    private func checkOpening(_ subscription: SubscriptionModel, _ others: [SubscriptionModel])
        throws(Violation)
    {
        guard let opening = subscription.opening,
            let next = subscription.tokens.first(where: { isTriggered($0, subscription) })
        else { return }
        for other in others where other !== subscription {
            guard let start = other.tokens.firstIndex(of: .event(opening.id)),
                let end = other.tokens.firstIndex(of: next), start < end
            else { continue }
            let between = other.tokens[(start + 1)..<end]
            guard
                let missed = between.first(where: {
                    isTriggered($0, subscription) && !isExcluded($0, subscription)
                })
            else { continue }
            throw subscription.client.broken(
                .cache,
                "began \(name) with event \(opening.id), and has missed \(missed.text) behind it"
            )
        }
    }

    private func isTriggered(_ token: Token, _ subscription: SubscriptionModel) -> Bool {
        guard let event = token.event else { return false }
        return subscription.client.world.publications[event]?.sender == nil
    }

    /// Removes candidates for the cached event that a subscriber has seen another one after.
    func findLastEvents() {
        guard channel.isCache else { return }
        lastEvents.removeAll { $0.status == .refused }
        for subscription in subscriptions {
            let events = subscription.tokens.compactMap(\.event)
            guard let last = events.last(where: { id in lastEvents.contains { $0.id == id } })
            else {
                continue
            }
            let earlier = Set(events.prefix { $0 != last })
            lastEvents.removeAll { earlier.contains($0.id) }
        }
        // Events settled in an earlier round are older than those of this one.
        if lastEvents.contains(where: { $0.settledAt == nil && $0.status == .accepted }) {
            lastEvents.removeAll { $0.settledAt != nil }
        }
    }
}
