public import Dispatch

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

/// The members of the channel, if it is a presence channel: those of its ``PresenceChannel``, with typed information.
extension TypedChannel {
    /// All members; `nil` before the broker has sent the list.
    public var roster: Roster<Schema.MemberInfo>? {
        channel.presence.roster.map(Roster.init(untyped:))
    }

    /// Returns the current members, if known, and then every change.
    ///
    /// - Parameter bufferLimit: The most unread changes; past it the sequence throws ``FanfareError/overflow(limit:)``.
    /// - Returns: A sequence for one task.
    public func changes(
        bufferLimit: Int = 1024
    ) -> AsyncMapSequence<PresenceChanges, RosterChange<Schema.MemberInfo>> {
        channel.presence.changes(bufferLimit: bufferLimit).map { RosterChange($0) }
    }

    /// Calls `perform` on the main actor with every change, the first list included.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onChange(
        perform: @escaping @MainActor @Sendable (RosterChange<Schema.MemberInfo>) -> Void
    ) -> Binding { channel.presence.onChange { perform(RosterChange($0)) } }

    /// Calls `perform` on a serial queue with every change, the first list included.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: A token. Discarding it keeps the callback.
    @discardableResult
    public func onChange(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (RosterChange<Schema.MemberInfo>) -> Void
    ) -> Binding { channel.presence.onChange(on: queue) { perform(RosterChange($0)) } }
}
