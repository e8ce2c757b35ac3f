import PusherProtocol

/// What the client hears of channels, which is only of those that it is subscribed to.
extension Conversation {
    /// The subscription that something of a channel can be of.
    func tenure(
        _ channel: String,
        _ message: ServerMessage
    ) throws(Violation) -> Tenure {
        guard let tenure = tenures[Cast.channelIndices[channel] ?? -1]?.first,
            tenure.grantedAt != nil
        else { throw broken(.audience, "heard \(message), and is not subscribed") }
        return tenure
    }

    func hear(grant data: String, on channel: String) throws(Violation) {
        guard let tenure = tenures[Cast.channelIndices[channel] ?? -1]?.first else {
            let owes = debts.contains { debt in
                if case .subscriptionError(channel, "LimitReached") = debt { true } else { false }
            }
            throw broken(
                owes ? .limits : .authorisation,
                "was granted \(channel), for which it had no right"
            )
        }
        guard tenure.grantedAt == nil else {
            throw broken(.answers, "was granted \(channel) twice")
        }
        tenure.grantedAt = world.step
        world.meet(tenure.isLeaving ? .lateGrant : .grant)
        tenure.awaitsOpening = tenure.room.channel.isCache
        guard tenure.room.channel.isPresence else { return }
        let members = try MemberList(data, self)
        tenure.members = members.marks
        guard let member = tenure.member, let mark = members.marks[member.user] else {
            throw broken(.presence, "is not on \(channel) itself: \(data)")
        }
        if mark > 0 { tenure.seen.insert(.arrival(mark)) }
        guard members.marks.count <= rules.membersMax else {
            throw broken(.limits, "found \(members.marks.count) members on \(channel)")
        }
    }

    func hear(count: Int, _ tenure: Tenure) throws(Violation) {
        guard rules.countsAreTold, !tenure.room.channel.isPresence, count > 0 else {
            throw broken(.counts, "was told a count of \(tenure.room.name)")
        }
        if let last = tenure.lastCount, abs(last - count) != 1 {
            throw broken(
                .counts,
                "was told \(count) subscribers of \(tenure.room.name) after \(last)"
            )
        }
        tenure.lastCount = count
        world.meet(.count)
    }

    func hear(arrival user: String, _ info: String?, _ tenure: Tenure) throws(Violation) {
        let mark = MemberList.mark(ofInfo: info ?? "")
        guard let index = Cast.users.firstIndex(of: user), let mark else {
            throw broken(.presence, "was told of \(user), \(info ?? "of whom nothing is known")")
        }
        guard tenure.members.updateValue(mark, forKey: index) == nil else {
            throw broken(.presence, "was told twice that \(user) is on \(tenure.room.name)")
        }
        world.meet(.arrival)
        if mark > 0 { try note(.arrival(mark), of: tenure) }
    }

    func hear(departure user: String, _ tenure: Tenure) throws(Violation) {
        guard let index = Cast.users.firstIndex(of: user),
            let mark = tenure.members.removeValue(forKey: index)
        else {
            throw broken(
                .presence,
                "was told that \(user) has left \(tenure.room.name), and was not there"
            )
        }
        world.meet(.departure)
        if mark > 0 { try note(.departure(mark), of: tenure) }
    }

    func note(_ token: Token, of tenure: Tenure) throws(Violation) {
        guard tenure.seen.insert(token).inserted else {
            throw broken(.once, "saw \(token.text) of \(tenure.room.name) twice")
        }
        tenure.tokens.append(token)
    }

    // MARK: - Events

    /// What a cache channel opens with comes right behind the grant.
    func checkOpening(_ message: ServerMessage) throws(Violation) {
        let awaiting = tenures.values.joined().first { $0.awaitsOpening }
        guard let awaiting else { return }
        switch message {
        case .cacheMiss(awaiting.room.channel.name): return
        case .event(let event) where event.channel == awaiting.room.channel.name: return
        default: throw broken(.cache, "heard \(message) ahead of what \(awaiting.room.name) holds")
        }
    }

    func hear(missOf tenure: Tenure) throws(Violation) {
        guard tenure.awaitsOpening else {
            throw broken(
                .cache,
                "heard of a miss on \(tenure.room.name), for which it was too late"
            )
        }
        tenure.awaitsOpening = false
        world.meet(.miss)
        let lifetime = Cast.cacheLifetime * 1_000
        for event in tenure.room.lastEvents {
            guard event.settledAt != nil, world.now < event.time + lifetime else { continue }
            throw broken(
                .cache,
                "found nothing on \(tenure.room.name), which holds event \(event.id)"
            )
        }
    }

    func hear(_ event: ReceivedEvent, _ message: ServerMessage) throws(Violation) {
        guard let channel = event.channel else {
            throw broken(.answers, "heard \(message)")
        }
        let tenure = try tenure(channel, message)
        guard let id = event.data.flatMap({ Int($0.prefix { $0 != ":" }) }),
            let publication = world.publications[id]
        else { throw broken(.content, "heard \(message), which nobody has published") }
        publication.wasSeen = true
        guard publication.app == app,
            publication.channels.contains(where: { Cast.channels[$0].name == channel })
        else { throw broken(.audience, "heard event \(id) on \(tenure.room.name)") }
        guard publication.name == event.name, publication.data == event.data else {
            throw broken(.content, "heard event \(id) otherwise than it was published: \(message)")
        }
        if tenure.awaitsOpening { return try open(tenure, with: publication) }
        guard !publication.isNot(for: self) else {
            throw broken(.exclusion, "heard event \(id), from which it was left out")
        }
        if tenure.room.channel.isPresence, let sender = publication.sender {
            guard event.userID == sender.user.map({ Cast.users[$0] }) else {
                throw broken(.content, "heard event \(id) of \(event.userID ?? "nobody")")
            }
        } else if event.userID != nil {
            throw broken(.content, "heard event \(id) of a user")
        }
        guard publication.settledAt == nil else {
            throw broken(.once, "heard event \(id) when everybody had it already")
        }
        try note(.event(id), of: tenure)
        world.meet(publication.sender == nil ? .event : .clientEvent)
    }

    func open(_ tenure: Tenure, with publication: Publication) throws(Violation) {
        tenure.awaitsOpening = false
        let lifetime = Cast.cacheLifetime * 1_000
        guard tenure.room.lastEvents.contains(where: { $0 === publication }) else {
            throw broken(
                .cache,
                "found event \(publication.id), which is not the last of \(tenure.room.name)"
            )
        }
        if let settledAt = publication.settledAt, tenure.askedAt > settledAt + lifetime {
            throw broken(.cache, "found event \(publication.id), which is out of date")
        }
        tenure.opening = publication
        world.meet(.opening)
    }
}
