/// A member of a presence channel, with typed information.
public struct Member<Info: Decodable & Sendable>: Sendable, Hashable, Identifiable {
    /// The member without the type.
    public let untyped: PresenceMember

    /// The user's ID, as the app's backend signed it.
    public var id: String { untyped.id }

    /// The user information for other members, decoded on each access.
    ///
    /// - Throws: A `DecodingError` when it is not an `Info`.
    public var info: Info { get throws { try untyped.decodeInfo() } }
}

/// The members of a presence channel, in the order in which this client learned of them.
public struct Roster<Info: Decodable & Sendable>: Sendable, Hashable {
    /// The roster without the type.
    public let untyped: PresenceRoster

    /// This client's own user.
    public var me: Member<Info>? { untyped.me.map(Member.init) }

    /// The member with an ID; `nil` if there is none.
    public subscript(id: String) -> Member<Info>? { untyped[id].map(Member.init) }
}

extension Roster: RandomAccessCollection {
    /// The index of the first member.
    public var startIndex: Int { untyped.members.startIndex }
    /// The index past the last member.
    public var endIndex: Int { untyped.members.endIndex }
    /// The member at an index.
    public subscript(position: Int) -> Member<Info> { Member(untyped: untyped.members[position]) }
}

/// A change of the members of a presence channel.
public struct RosterChange<Info: Decodable & Sendable>: Sendable, Hashable {
    /// All members after this change.
    public let roster: Roster<Info>
    /// The members that joined.
    public let joined: [Member<Info>]
    /// The members that left.
    public let left: [Member<Info>]

    init(_ change: PresenceChange) {
        roster = Roster(untyped: change.roster)
        joined = change.joined.map(Member.init)
        left = change.left.map(Member.init)
    }
}

/// The members of the channel, if it is a presence channel, with typed information; see ``PresenceChannel``.
extension TypedChannel {
    /// All members; `nil` before the broker has sent the list.
    public var roster: Roster<Schema.MemberInfo>? {
        channel.presence.roster.map(Roster.init(untyped:))
    }

    /// The members as a sequence; see ``PresenceChannel/changes``.
    public var changes: Updates<RosterChange<Schema.MemberInfo>, FanfareError> {
        channel.presence.changes { RosterChange($0) }
    }

    /// Calls `perform` with every change, including the first list.
    ///
    /// - Parameter perform: Called in the order of the changes, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onChange(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (RosterChange<Schema.MemberInfo>) -> Void
    ) -> ListenerToken {
        let callback = Callback(perform, orElse: channel.client.callbackActor)
            .compactMap { (change: PresenceChange) in RosterChange<Schema.MemberInfo>(change) }
        return channel.client.add(callback, to: \.presence[channel.name])
    }
}
