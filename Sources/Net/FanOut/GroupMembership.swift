/// A stream's membership in a ``StreamGroup``.
struct GroupMembership {
    let group: StreamGroup
    /// The byte of the group's waiting batch at which the member's frames begin; it joined after the earlier ones.
    var start: UInt32
    /// The index among the group's members.
    var index: Int32
}

/// The memberships of one stream, by group.
///
/// One or none, the usual case, allocates nothing.
enum GroupMemberships {
    case none
    case one(GroupMembership)
    case many([ObjectIdentifier: GroupMembership])

    /// The number of groups that the stream is a member of.
    var count: Int {
        switch self {
        case .none: 0
        case .one: 1
        case .many(let memberships): memberships.count
        }
    }

    /// The membership in `group`; nil if the stream is not a member.
    subscript(group: StreamGroup) -> GroupMembership? {
        switch self {
        case .none: nil
        case .one(let membership): membership.group === group ? membership : nil
        case .many(let memberships): memberships[ObjectIdentifier(group)]
        }
    }

    /// Whether the stream is a member of `group`.
    func contains(_ group: StreamGroup) -> Bool {
        switch self {
        case .none: false
        case .one(let membership): membership.group === group
        case .many(let memberships): memberships[ObjectIdentifier(group)] != nil
        }
    }

    /// Calls `body` with each membership, in no particular order.
    func forEach(_ body: (GroupMembership) -> Void) {
        switch self {
        case .none: break
        case .one(let membership): body(membership)
        case .many(let memberships): for membership in memberships.values { body(membership) }
        }
    }

    /// Adds a membership, or replaces the one in the same group.
    mutating func put(_ membership: GroupMembership) {
        switch self {
        case .none:
            self = .one(membership)
        case .one(let only) where only.group === membership.group:
            self = .one(membership)
        case .one(let only):
            self = .many([
                ObjectIdentifier(only.group): only, ObjectIdentifier(membership.group): membership,
            ])
        case .many(var memberships):
            // Moved out of the enumeration first: a second reference would copy the dictionary.
            self = .none
            memberships[ObjectIdentifier(membership.group)] = membership
            self = .many(memberships)
        }
    }

    /// Removes and returns the membership in `group`, if there is one.
    mutating func take(_ group: StreamGroup) -> GroupMembership? {
        switch self {
        case .none: return nil
        case .one(let membership):
            guard membership.group === group else { return nil }
            self = .none
            return membership
        case .many(var memberships):
            self = .none
            let membership = memberships.removeValue(forKey: ObjectIdentifier(group))
            self = memberships.isEmpty ? .none : .many(memberships)
            return membership
        }
    }
}
