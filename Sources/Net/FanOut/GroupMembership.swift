/// A stream's membership in a ``StreamGroup``.
struct GroupMembership {
    let group: StreamGroup
    /// The byte of the group's waiting batch at which the member's frames begin; it joined after the earlier ones.
    var start: Int
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

extension Stream {
    /// The number of groups that the stream is a member of.
    public var groupCount: Int { memberships.count }

    // Both change the memberships outside of the stream, for the reason given at `StreamGroup.change`.

    func put(_ membership: GroupMembership) {
        var memberships = exchange(&memberships, with: .none)
        memberships.put(membership)
        self.memberships = memberships
        if memberships.count > 1 { obstacles.insert(.shared) }
    }

    func removeMembership(in group: StreamGroup) -> GroupMembership? {
        var memberships = exchange(&memberships, with: .none)
        let membership = memberships.take(group)
        self.memberships = memberships
        if memberships.count <= 1 { obstacles.remove(.shared) }
        return membership
    }
}

// Leaving groups. A stream may have joined thousands.
extension Stream {
    /// The maximum number of groups that a stream leaves at once when it ends.
    ///
    /// It leaves more only after `streamClosed`, in which its delegate may detach it.
    static var immediateLeaveCountMax: Int { 32 }

    /// Writes the frames that wait in the stream's groups; later frames of the groups are dropped.
    ///
    /// For a delegate that closes a stream with thousands of groups, which take milliseconds to leave. The stream
    /// remains a member of each, even after its end, until the delegate calls ``StreamGroup/leave(_:)``, some at a
    /// time. Can be called as late as in ``StreamDelegate/streamClosed(_:error:)``.
    public func detachFromGroups() {
        guard !obstacles.contains(.detached) else { return }
        if !isClosing {
            // Only these have frames that the stream has not got.
            for group in reactor.dirtyGroups where memberships.contains(group) { group.leave(self) }
            for group in Array(reactor.delayedGroups.values) where memberships.contains(group) {
                group.leave(self)
            }
        }
        obstacles.insert(.detached)
    }

    /// Leaves all groups, dropping the frames that wait in them; does nothing for a detached stream.
    func leaveAllGroups() {
        guard !obstacles.contains(.detached) else { return }
        let all = exchange(&memberships, with: .none)
        obstacles.remove(.shared)
        all.forEach { $0.group.removeMember($0) }
    }
}
