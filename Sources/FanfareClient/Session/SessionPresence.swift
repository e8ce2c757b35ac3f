import PusherProtocol

/// The members of presence channels.
extension ClientSession {
    /// Replaces the list of members with that of a successful subscription; `nil` if it is not a presence channel.
    mutating func replaceMembers(of channel: String, _ data: String) -> PresenceChange? {
        guard ChannelKind(ofName: channel).isPresence else { return nil }
        let members = PresenceMember.members(inSuccess: data)
        if members.count > settings.membersMax {
            let limit = "\(members.count) members, more than the limit of \(settings.membersMax)"
            effects.append(.report(.protocolViolation("\(channel) has \(limit)")))
        }
        let old = subscriptions[of: channel]?.roster
        let roster = PresenceRoster(
            members: Array(members.prefix(settings.membersMax)),
            myID: subscriptions[of: channel]?.memberID ?? signIn.user?.id
        )
        subscriptions[of: channel]?.roster = roster
        return PresenceChange(from: old, to: roster)
    }

    mutating func addMember(_ member: PresenceMember, to channel: String, _ message: ServerMessage)
    {
        guard delivers(channel), let roster = subscriptions[of: channel]?.roster else {
            return deliver(message)
        }
        // Some brokers send this for each connection of a user.
        guard roster[member.id] == nil else { return }
        guard roster.count < settings.membersMax else {
            let limit = "more members than the limit of \(settings.membersMax)"
            return effects.append(.report(.protocolViolation("\(channel) has \(limit)")))
        }
        subscriptions[of: channel]?.roster?.add(member)
        deliver(message)
        reportPresence(of: channel, joined: [member], left: [])
    }

    mutating func removeMember(_ id: String, from channel: String, _ message: ServerMessage) {
        guard delivers(channel), subscriptions[of: channel]?.roster != nil else {
            return deliver(message)
        }
        guard let member = subscriptions[of: channel]?.roster?.remove(id) else { return }
        deliver(message)
        reportPresence(of: channel, joined: [], left: [member])
    }

    private mutating func reportPresence(
        of channel: String,
        joined: [PresenceMember],
        left: [PresenceMember]
    ) {
        guard let roster = subscriptions[of: channel]?.roster else { return }
        let change = PresenceChange(roster: roster, joined: joined, left: left)
        effects.append(.presence(channel: channel, change))
    }
}

extension PresenceMember {
    /// Parses the members from the data of a successful subscription: those of `hash`, in its order.
    static func members(inSuccess data: String) -> [PresenceMember] {
        guard let hash = JSONMembers(data)?.object("presence")?.object("hash") else { return [] }
        return hash.names.map { PresenceMember(id: $0, info: hash.json($0)) }
    }
}
