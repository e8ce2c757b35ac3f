#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Somebody on a presence channel.
public struct PresenceMember: Sendable, Hashable, Identifiable {
    /// The user's id, as the app's backend has given it.
    public let id: String
    /// What the backend tells the others of the user, as JSON text; `nil` for nothing.
    public let info: String?

    /// Makes a member, for tests of what consumes members.
    ///
    /// - Parameters:
    ///   - id: The user's id.
    ///   - info: What is told of the user, as JSON text.
    public init(id: String, info: String? = nil) {
        self.id = id
        self.info = info
    }

    /// Decodes what is told of the user.
    ///
    /// - Parameters:
    ///   - type: What to make of it.
    ///   - decoder: Decides on dates, keys and so on.
    /// - Returns: The value; for a member without information what `null` is decoded as.
    /// - Throws: A `DecodingError`.
    public func decodeInfo<Value: Decodable>(
        _ type: Value.Type = Value.self,
        with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data((info ?? "null").utf8))
    }
}

/// Who is on a presence channel, in the order in which they came as far as this client knows it.
public struct PresenceRoster: Sendable, Hashable {
    /// Everybody, this client's own user included.
    public private(set) var members: [PresenceMember]
    private var places: [String: Int]
    private let myID: String?

    init(members: [PresenceMember], myID: String?) {
        self.members = members
        self.myID = myID
        places = Dictionary(
            zip(members.map(\.id), members.indices),
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// How many users there are; a user with several connections counts once.
    public var count: Int { members.count }

    /// The user whom this client is.
    public var me: PresenceMember? { myID.flatMap { self[$0] } }

    /// The member with an id; `nil` for somebody who is not there.
    public subscript(id: String) -> PresenceMember? { places[id].map { members[$0] } }

    mutating func add(_ member: PresenceMember) {
        places[member.id] = members.count
        members.append(member)
    }

    mutating func remove(_ id: String) -> PresenceMember? {
        guard let place = places.removeValue(forKey: id) else { return nil }
        let member = members.remove(at: place)
        for index in place..<members.count { places[members[index].id] = index }
        return member
    }
}

/// A change of who is on a presence channel.
public struct PresenceChange: Sendable, Hashable {
    /// Everybody, with this change.
    public let roster: PresenceRoster
    /// Who has come.
    public let joined: [PresenceMember]
    /// Who has gone.
    public let left: [PresenceMember]

    init(roster: PresenceRoster, joined: [PresenceMember], left: [PresenceMember]) {
        self.roster = roster
        self.joined = joined
        self.left = left
    }

    /// Compares a new list with the last one; those of a first list have not come, they were there.
    init(from old: PresenceRoster?, to new: PresenceRoster) {
        roster = new
        guard let old else {
            (joined, left) = ([], [])
            return
        }
        joined = new.members.filter { old[$0.id] == nil }
        left = old.members.filter { new[$0.id] == nil }
    }
}

/// A presence channel as an asynchronous sequence: who is there now, then every change.
///
/// Each change has the roster that it leads to. When more come than it holds unread, it ends by throwing
/// ``FanfareError/overflow(limit:)``, as ``Events`` does. It ends with the subscription. One task reads it.
public struct PresenceChanges: AsyncSequence, Sendable {
    /// Reads the changes, one after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let buffer: EventBuffer<PresenceChange>

        /// Waits for the next change.
        public mutating func next() async throws(FanfareError) -> PresenceChange? {
            try await buffer.next()
        }

        /// Waits for the next change, on the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(FanfareError) -> PresenceChange? {
            try await buffer.next(isolation: actor)
        }
    }

    let buffer: EventBuffer<PresenceChange>

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }
}
