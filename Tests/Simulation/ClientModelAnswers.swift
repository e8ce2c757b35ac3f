import PusherProtocol

/// Answers in the order of requests.
extension ClientModel {
    /// Removes the matching expectation, and optional ones before it.
    func match(_ what: String, _ isIt: (Expectation) -> Bool) throws(Violation) {
        while let expectation = expectations.first {
            if isIt(expectation) {
                expectations.removeFirst()
                return
            }
            switch expectation {
            case .optionalNotSubscribed, .optionalFault: break
            case .clientEvent(let publication): accept(publication)
            default:
                throw broken(
                    expectation.invariant,
                    "received \(what), but expects \(expectation)"
                )
            }
            expectations.removeFirst()
        }
        throw broken(.answers, "received \(what), and expects nothing")
    }

    func matchPong() throws(Violation) {
        var fenced: SubscriptionModel?
        try match("a pong") { expectation in
            if case .pong = expectation { return true }
            if case .fence(let subscription) = expectation {
                fenced = subscription
                return true
            }
            return false
        }
        if let fenced { end(fenced) }
    }

    func end(_ subscription: SubscriptionModel) {
        subscription.isOver = true
        for channel in subscriptions.keys {
            subscriptions[channel]?.removeAll { $0 === subscription }
        }
    }

    func accept(_ publication: Publication) {
        publication.status = .accepted
        events.append(publication)
        let channel = publication.channels[0]
        if let earlier = lastEvent[channel] {
            world.model(app, channel).pairs.append((earlier, publication.id))
        }
        lastEvent[channel] = publication.id
    }

    func receive(error code: Int?, _ text: String) throws(Violation) {
        let closingErrors = [4001, 4003, 4004, 4100, 4200, 4201]
        if let code, closingErrors.contains(code) || code == 4009 && isClosingError(text) {
            closingError = code
            return
        }
        try match("error \(code.map(String.init) ?? "without a code"), \"\(text)\"") {
            expectation in
            switch expectation {
            case .error(code): return true
            case .optionalFault: return code == nil
            case .optionalNotSubscribed: return text.hasPrefix("No current subscription")
            case .clientEvent(let publication):
                guard
                    code == 4301 || text.hasPrefix("Client event rejected")
                        || text.hasPrefix("Cannot broadcast client event")
                else { return false }
                publication.status = .refused
                if code == 4301 { world.reach(.tooSoon) }
                return true
            default: return false
            }
        }
    }

    func isClosingError(_ text: String) -> Bool {
        text.hasPrefix("The app has closed") || text.hasPrefix("Not authorized within")
    }

    func receive(refusal type: String, _ text: String, on channel: String) throws(Violation) {
        // The presence channel is full.
        if type == "LimitReached", text.contains("members"),
            let subscription = subscriptions[Scenario.channelIndices[channel] ?? -1]?.first
        {
            guard subscription.grantedAt == nil, subscription.model.channel.isPresence else {
                throw broken(.answers, "was refused \(channel) after it was granted")
            }
            let users = Set(subscription.model.subscriptions.compactMap { $0.member?.user })
            guard users.count > rules.membersMax else {
                throw broken(.limits, "was refused \(channel) for \(users.count) users in all")
            }
            subscription.wasRefused = true
            world.reach(.fullChannel)
            end(subscription)
            awaitsRefusalError = true
            return
        }
        try match("\(type) of \(channel), \"\(text)\"") { expectation in
            if case .subscriptionError(channel, type) = expectation { true } else { false }
        }
        world.reach(.refusal(type))
    }

    /// Checks that accepted client events do not exceed the rate limit.
    func checkRate() throws(Violation) {
        guard let first = events.first else { return }
        let rate = Scenario.eventsPerSecondMax
        let most = rate + (rate * (world.now - first.time) + 999) / 1_000
        guard events.count <= most else {
            throw broken(.limits, "has sent \(events.count) events, and had \(most)")
        }
    }
}
