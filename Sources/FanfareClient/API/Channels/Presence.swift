#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import PusherProtocol

/// A member of a presence channel.
public struct PresenceMember: Sendable, Hashable, Identifiable {
    /// The user's ID, as the app's backend signed it.
    public let id: String
    /// The user information for other members, as JSON text; `nil` if there is none.
    public let info: String?

    /// Creates a member, for tests.
    ///
    /// - Parameters:
    ///   - id: The user's ID.
    ///   - info: The user information as JSON text.
    public init(id: String, info: String? = nil) {
        self.id = id
        self.info = info
    }

    /// Decodes the user information.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder, with its strategies for dates and keys.
    /// - Returns: The value; without information, the result of decoding `null`.
    /// - Throws: A `DecodingError`.
    public func decodeInfo<Value: Decodable>(
        _ type: Value.Type = Value.self,
        with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, repairing: Data((info ?? "null").utf8))
    }
}

/// The members of a presence channel, in the order in which this client learned of them.
public struct PresenceRoster: Sendable, Hashable {
    /// All members, including this client's own user; a user with several connections is one member.
    public private(set) var members: [PresenceMember]
    private var indices: [String: Int]
    private let myID: String?

    init(members: [PresenceMember], myID: String?) {
        self.members = members
        self.myID = myID
        indices = Dictionary(
            zip(members.map(\.id), members.indices),
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// This client's own user.
    public var me: PresenceMember? { myID.flatMap { self[$0] } }

    /// The member with an ID; `nil` if there is none.
    public subscript(id: String) -> PresenceMember? { indices[id].map { members[$0] } }

    /// Applies a message about a member and returns the change, `nil` if there is none.
    ///
    /// - Throws: The error of one more member than `membersMax`.
    mutating func receive(
        _ message: ServerMessage,
        membersMax: Int
    ) throws(FanfareError) -> PresenceChange? {
        switch message {
        // Some brokers send this for each connection of a user.
        case .memberAdded(_, let id, _) where indices[id] != nil: return nil
        case .memberAdded(let channel, let id, let info):
            guard members.count < membersMax else {
                let limit = "more members than the limit of \(membersMax)"
                throw .protocolViolation("\(channel) has \(limit)")
            }
            let member = PresenceMember(id: id, info: info)
            indices[id] = members.count
            members.append(member)
            return PresenceChange(roster: self, joined: [member], left: [])
        case .memberRemoved(_, let id):
            guard let index = indices.removeValue(forKey: id) else { return nil }
            let member = members.remove(at: index)
            for later in index..<members.count { indices[members[later].id] = later }
            return PresenceChange(roster: self, joined: [], left: [member])
        default: return nil
        }
    }
}

extension PresenceMember {
    /// Parses the members from the data of a successful subscription: those of `hash`, in its order.
    static func members(inSuccess data: String) -> [PresenceMember] {
        guard let hash = JSONMembers(data)?.object("presence")?.object("hash") else { return [] }
        return hash.names.map { PresenceMember(id: $0, info: hash.json($0)) }
    }
}

/// A change of the members of a presence channel.
public struct PresenceChange: Sendable, Hashable {
    /// All members after this change.
    public let roster: PresenceRoster
    /// The members that joined.
    public let joined: [PresenceMember]
    /// The members that left.
    public let left: [PresenceMember]

    init(roster: PresenceRoster, joined: [PresenceMember], left: [PresenceMember]) {
        self.roster = roster
        self.joined = joined
        self.left = left
    }

    /// The approximate memory of a waiting change, in bytes: each change has its own list.
    var byteCount: Int { 64 + roster.members.count * 80 }

    /// Computes the difference between two lists; the first list has no joined members.
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
