import PusherProtocol

/// Who is on the session's presence channels.
extension ClientSession {
    /// Takes the list of members that a success brings, in place of whatever was known.
    ///
    /// - Returns: What has changed for those who watch; `nil` where there are no members.
    mutating func seatMembers(of channel: String, _ data: String) -> PresenceChange? {
        guard ChannelKind(ofName: channel).isPresence else { return nil }
        let members = PresenceMember.members(inSuccess: data)
        if members.count > settings.membersMax {
            let limit = "\(members.count) members, and \(settings.membersMax) are remembered"
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
        guard hears(channel), let roster = subscriptions[of: channel]?.roster else {
            return deliver(message)
        }
        // Some brokers tell of each connection of a user.
        guard roster[member.id] == nil else { return }
        guard roster.count < settings.membersMax else {
            let limit = "more members than the \(settings.membersMax) that are remembered"
            return effects.append(.report(.protocolViolation("\(channel) has \(limit)")))
        }
        subscriptions[of: channel]?.roster?.add(member)
        deliver(message)
        tellPresence(of: channel, joined: [member], left: [])
    }

    mutating func removeMember(_ id: String, from channel: String, _ message: ServerMessage) {
        guard hears(channel), subscriptions[of: channel]?.roster != nil else {
            return deliver(message)
        }
        guard let member = subscriptions[of: channel]?.roster?.remove(id) else { return }
        deliver(message)
        tellPresence(of: channel, joined: [], left: [member])
    }

    private mutating func tellPresence(
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
    /// The members in the data of a success: those of `hash`, in the order of `ids`.
    static func members(inSuccess data: String) -> [PresenceMember] {
        guard let hash = JSONMembers(data)?.object("presence")?.object("hash") else { return [] }
        return hash.names.map { PresenceMember(id: $0, info: hash.json($0)) }
    }
}
