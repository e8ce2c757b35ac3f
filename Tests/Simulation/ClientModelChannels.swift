import PusherProtocol

/// Messages of channels, which only subscribers may receive.
extension ClientModel {
    /// The subscription that a message belongs to.
    func subscription(
        _ channel: String,
        _ message: ServerMessage
    ) throws(Violation) -> SubscriptionModel {
        guard let subscription = subscriptions[Scenario.channelIndices[channel] ?? -1]?.first,
            subscription.grantedAt != nil
        else { throw broken(.audience, "received \(message), and is not subscribed") }
        return subscription
    }

    func receive(grant data: String, on channel: String) throws(Violation) {
        guard let subscription = subscriptions[Scenario.channelIndices[channel] ?? -1]?.first else {
            let isExpected = expectations.contains { expectation in
                if case .subscriptionError(channel, "LimitReached") = expectation {
                    true
                } else {
                    false
                }
            }
            throw broken(
                isExpected ? .limits : .authorisation,
                "was granted \(channel), without permission"
            )
        }
        guard subscription.grantedAt == nil else {
            return try receive(restart: data, subscription)
        }
        subscription.grantedAt = world.step
        world.reach(subscription.isLeaving ? .lateGrant : .grant)
        try receive(start: data, subscription)
        subscription.awaitsOpening = subscription.model.channel.isCache && !subscription.goesOn
        guard subscription.model.channel.isPresence else { return }
        let members = try MemberList(data, self)
        subscription.members = members.marks
        guard let member = subscription.member, let mark = members.marks[member.user] else {
            throw broken(.presence, "is not on \(channel) itself: \(data)")
        }
        if mark > 0 { subscription.seen.insert(.arrival(mark)) }
        guard members.marks.count <= rules.membersMax else {
            throw broken(.limits, "found \(members.marks.count) members on \(channel)")
        }
    }

    func receive(count: Int, _ subscription: SubscriptionModel) throws(Violation) {
        guard rules.countsAreTold, !subscription.model.channel.isPresence, count > 0 else {
            throw broken(.counts, "received a count of \(subscription.model.name)")
        }
        if let last = subscription.lastCount, abs(last - count) != 1 {
            throw broken(
                .counts,
                "received \(count) subscribers of \(subscription.model.name) after \(last)"
            )
        }
        subscription.lastCount = count
        world.reach(.count)
    }

    func receive(arrival user: String, _ info: String?, _ subscription: SubscriptionModel)
        throws(Violation)
    {
        let mark = MemberList.mark(ofInfo: info ?? "")
        guard let index = Scenario.users.firstIndex(of: user), let mark else {
            throw broken(
                .presence,
                "received the arrival of \(user), \(info ?? "without user_info")"
            )
        }
        guard subscription.members.updateValue(mark, forKey: index) == nil else {
            throw broken(
                .presence,
                "received the arrival twice of \(user) on \(subscription.model.name)"
            )
        }
        world.reach(.arrival)
        if mark > 0 { try record(.arrival(mark), of: subscription) }
    }

    func receive(departure user: String, _ subscription: SubscriptionModel) throws(Violation) {
        guard let index = Scenario.users.firstIndex(of: user),
            let mark = subscription.members.removeValue(forKey: index)
        else {
            throw broken(
                .presence,
                "received the departure of \(user), who is not on \(subscription.model.name)"
            )
        }
        world.reach(.departure)
        if mark > 0 { try record(.departure(mark), of: subscription) }
    }

    func record(_ token: Token, of subscription: SubscriptionModel) throws(Violation) {
        guard subscription.seen.insert(token).inserted else {
            throw broken(.once, "saw \(token.text) of \(subscription.model.name) twice")
        }
        subscription.tokens.append(token)
    }

    // MARK: - Events

    /// Checks that the cached event, or the miss, follows the grant directly.
    func checkOpening(_ message: ServerMessage) throws(Violation) {
        let awaiting = subscriptions.values.joined().first { $0.awaitsOpening }
        guard let awaiting else { return }
        switch message {
        case .cacheMiss(awaiting.model.channel.name): return
        case .event(let event) where event.channel == awaiting.model.channel.name: return
        default:
            throw broken(.cache, "received \(message) ahead of what \(awaiting.model.name) holds")
        }
    }

    func receive(missOf subscription: SubscriptionModel) throws(Violation) {
        guard subscription.awaitsOpening else {
            throw broken(
                .cache,
                "received a miss of \(subscription.model.name) too late"
            )
        }
        subscription.awaitsOpening = false
        world.reach(.miss)
        let lifetime = Scenario.cacheLifetime * 1_000
        for event in subscription.model.lastEvents {
            guard event.settledAt != nil, world.now < event.time + lifetime else { continue }
            throw broken(
                .cache,
                "found nothing on \(subscription.model.name), which holds event \(event.id)"
            )
        }
    }

    func receive(_ event: ReceivedEvent, _ message: ServerMessage) throws(Violation) {
        guard let channel = event.channel else {
            throw broken(.answers, "received \(message)")
        }
        let subscription = try subscription(channel, message)
        guard let id = event.data.flatMap({ Int($0.prefix { $0 != ":" }) }),
            let publication = world.publications[id]
        else { throw broken(.content, "received \(message), which was never published") }
        publication.wasSeen = true
        guard publication.app == app,
            publication.channels.contains(where: { Scenario.channels[$0].name == channel })
        else { throw broken(.audience, "received event \(id) on \(subscription.model.name)") }
        guard publication.name == event.name, publication.data == event.data else {
            throw broken(
                .content,
                "received event \(id) with another content than published: \(message)"
            )
        }
        if subscription.awaitsOpening { return try open(subscription, with: publication) }
        guard !publication.excludes(self) else {
            throw broken(.exclusion, "received event \(id), which excludes it")
        }
        let isReplayed = try number(event, publication, subscription)
        if subscription.model.channel.isPresence, let sender = publication.sender {
            guard event.userID == sender.user.map({ Scenario.users[$0] }) else {
                throw broken(.content, "received event \(id) of \(event.userID ?? "no user")")
            }
        } else if event.userID != nil {
            throw broken(.content, "received event \(id) of a user")
        }
        // A replay has no notices, and so is not compared with what others have received.
        guard !isReplayed else { return world.reach(.replayed) }
        guard publication.settledAt == nil else {
            throw broken(.once, "received event \(id) after its settlement")
        }
        try record(.event(id), of: subscription)
        world.reach(publication.sender == nil ? .event : .clientEvent)
    }

    func open(_ subscription: SubscriptionModel, with publication: Publication) throws(Violation) {
        subscription.awaitsOpening = false
        if !subscription.isLeaving { subscription.tracked?.tracking.lacksOpening = false }
        let lifetime = Scenario.cacheLifetime * 1_000
        guard subscription.model.lastEvents.contains(where: { $0 === publication }) else {
            throw broken(
                .cache,
                "found event \(publication.id), which is not the last of \(subscription.model.name)"
            )
        }
        if let settledAt = publication.settledAt, subscription.askedAt > settledAt + lifetime {
            throw broken(.cache, "found event \(publication.id), which is out of date")
        }
        subscription.opening = publication
        world.reach(.opening)
    }
}
