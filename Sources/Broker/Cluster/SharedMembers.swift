/// The members of a presence channel on all nodes of a cluster, as one node knows them from Redis.
///
/// Every operation but a replacement takes constant time.
public struct SharedMembers: Sendable {
    /// The members, in no particular order.
    public private(set) var members: [Member] = []
    private var indices: [UserID: Int] = [:]

    /// Creates an empty list.
    public init() {}

    /// Whether a user is a member.
    public func contains(_ user: UserID) -> Bool { indices[user] != nil }

    /// The member with this ID; `nil` if the user is not a member.
    public subscript(user: UserID) -> Member? { indices[user].map { members[$0] } }

    /// Adds a member, and returns whether the user was not a member before; if it was, its info stays.
    @discardableResult
    public mutating func add(_ member: Member) -> Bool {
        guard indices[member.id] == nil else { return false }
        indices[member.id] = members.count
        members.append(member)
        return true
    }

    /// Removes a member, and returns whether the user was one.
    @discardableResult
    public mutating func remove(_ user: UserID) -> Bool {
        guard let index = indices.removeValue(forKey: user) else { return false }
        // The last member fills the gap, so that no other index changes.
        let last = members.removeLast()
        if index < members.count {
            members[index] = last
            indices[last.id] = index
        }
        return true
    }

    /// Replaces the list with one that was read later, and returns the users that have left and those that have joined.
    public mutating func replace(by present: [Member]) -> (left: [UserID], come: [Member]) {
        var next = SharedMembers()
        for member in present { next.add(member) }
        let left = members.map(\.id).filter { !next.contains($0) }
        let come = next.members.filter { !contains($0.id) }
        self = next
        return (left, come)
    }
}
