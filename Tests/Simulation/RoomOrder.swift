/// The order of a channel, which no one client sees whole.
extension Room {
    /// Checks that what its subscribers saw are pieces of one sequence, without gaps.
    ///
    /// Each subscriber sees a piece: from its grant to its end, without what it was left out of. So two that have two
    /// things in common have them in the same order, and what one of them saw in between, so did the other.
    func checkOrder() throws(Violation) {
        let granted = tenures.filter { !$0.tokens.isEmpty }
        for one in granted {
            for other in granted where other !== one { try compare(one, other) }
            try checkPairs(one)
        }
        for tenure in tenures where tenure.opening != nil { try checkOpening(tenure, granted) }
    }

    private func compare(_ one: Tenure, _ other: Tenure) throws(Violation) {
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
                    throw other.conversation.broken(
                        .order,
                        "saw \(token.text) before \(last.token.text) on \(name); \(one.conversation.name) the other way"
                    )
                }
                if let missed = between.first(where: { !isLeftOut($0, other) }) {
                    throw other.conversation.broken(
                        .once,
                        "has missed \(missed.text) on \(name), which \(one.conversation.name) saw between two that both have"
                    )
                }
            }
            last = (token, place)
            between = []
        }
    }

    private func isLeftOut(_ token: Token, _ tenure: Tenure) -> Bool {
        token.event.flatMap { tenure.conversation.world.publications[$0] }?
            .isNot(for: tenure.conversation) == true
    }

    /// What was published later, by somebody who knew of the earlier, comes later.
    private func checkPairs(_ tenure: Tenure) throws(Violation) {
        var places: [Int: Int] = [:]
        for (place, token) in tenure.tokens.enumerated() {
            if let event = token.event { places[event] = place }
        }
        for (earlier, later) in pairs {
            guard let first = places[earlier], let second = places[later], second < first else {
                continue
            }
            throw tenure.conversation.broken(
                .order,
                "saw event \(later) before event \(earlier) on \(name), which was published first"
            )
        }
    }

    /// Between what a client began with and its first live event there is no other that a backend has triggered.
    private func checkOpening(_ tenure: Tenure, _ others: [Tenure]) throws(Violation) {
        guard let opening = tenure.opening,
            let next = tenure.tokens.first(where: { isTriggered($0, tenure) })
        else { return }
        for other in others where other !== tenure {
            guard let start = other.tokens.firstIndex(of: .event(opening.id)),
                let end = other.tokens.firstIndex(of: next), start < end
            else { continue }
            let between = other.tokens[(start + 1)..<end]
            guard
                let missed = between.first(where: {
                    isTriggered($0, tenure) && !isLeftOut($0, tenure)
                })
            else { continue }
            throw tenure.conversation.broken(
                .cache,
                "began \(name) with event \(opening.id), and has missed \(missed.text) behind it"
            )
        }
    }

    private func isTriggered(_ token: Token, _ tenure: Tenure) -> Bool {
        guard let event = token.event else { return false }
        return tenure.conversation.world.publications[event]?.sender == nil
    }

    /// Leaves out of the events that may be the last those that somebody has seen another behind.
    func findLastEvents() {
        guard channel.isCache else { return }
        lastEvents.removeAll { $0.fate == .refused }
        for tenure in tenures {
            let events = tenure.tokens.compactMap(\.event)
            guard let last = events.last(where: { id in lastEvents.contains { $0.id == id } })
            else {
                continue
            }
            let earlier = Set(events.prefix { $0 != last })
            lastEvents.removeAll { earlier.contains($0.id) }
        }
        // What was settled in an earlier round is older than anything of this one.
        if lastEvents.contains(where: { $0.settledAt == nil && $0.fate == .accepted }) {
            lastEvents.removeAll { $0.settledAt != nil }
        }
    }
}
