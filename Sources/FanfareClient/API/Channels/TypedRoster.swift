public import Dispatch

/// Somebody on a presence channel, with the type of what is told of them.
public struct Member<Info: Decodable & Sendable>: Sendable, Hashable, Identifiable {
    /// The member without the type.
    public let untyped: PresenceMember

    /// The user's id, as the app's backend has given it.
    public var id: String { untyped.id }

    /// What the backend tells the others of the user, decoded when it is asked for.
    ///
    /// - Throws: A `DecodingError`: it is no `Info`.
    public var info: Info { get throws { try untyped.decodeInfo() } }
}

/// Who is on a presence channel, in the order in which they came as far as this client knows it.
public struct Roster<Info: Decodable & Sendable>: Sendable, Hashable {
    /// The roster without the type.
    public let untyped: PresenceRoster

    /// The user whom this client is.
    public var me: Member<Info>? { untyped.me.map(Member.init) }

    /// The member with an id; `nil` for somebody who is not there.
    public subscript(id: String) -> Member<Info>? { untyped[id].map(Member.init) }
}

extension Roster: RandomAccessCollection {
    /// Where the first member is.
    public var startIndex: Int { untyped.members.startIndex }
    /// Behind the last member.
    public var endIndex: Int { untyped.members.endIndex }
    /// The member at a place in the order of arrival.
    public subscript(position: Int) -> Member<Info> { Member(untyped: untyped.members[position]) }
}

/// A change of who is on a presence channel.
public struct RosterChange<Info: Decodable & Sendable>: Sendable, Hashable {
    /// Everybody, with this change.
    public let roster: Roster<Info>
    /// Who has come.
    public let joined: [Member<Info>]
    /// Who has gone.
    public let left: [Member<Info>]

    init(_ change: PresenceChange) {
        roster = Roster(untyped: change.roster)
        joined = change.joined.map(Member.init)
        left = change.left.map(Member.init)
    }
}

/// Who is on the channel, if it is a presence channel: as its ``PresenceChannel`` tells, with a type.
extension TypedChannel {
    /// Everybody who is there; `nil` before the broker has told.
    public var roster: Roster<Schema.MemberInfo>? {
        channel.presence.roster.map(Roster.init(untyped:))
    }

    /// Who is there now, if the broker has told, and then every change.
    ///
    /// - Parameter bufferLimit: How many unread changes are held before the sequence ends by an error.
    /// - Returns: A sequence for one task.
    public func changes(
        bufferLimit: Int = 1024
    ) -> AsyncMapSequence<PresenceChanges, RosterChange<Schema.MemberInfo>> {
        channel.presence.changes(bufferLimit: bufferLimit).map { RosterChange($0) }
    }

    /// Calls back on the main actor with every change, the first list included.
    ///
    /// - Parameter perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onChange(
        perform: @escaping @MainActor @Sendable (RosterChange<Schema.MemberInfo>) -> Void
    ) -> Binding { channel.presence.onChange { perform(RosterChange($0)) } }

    /// Calls back on a serial queue with every change, the first list included.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called in the order of the changes.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onChange(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (RosterChange<Schema.MemberInfo>) -> Void
    ) -> Binding { channel.presence.onChange(on: queue) { perform(RosterChange($0)) } }
}
