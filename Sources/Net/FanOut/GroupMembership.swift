/// A stream's membership in a ``StreamGroup``: where it stands there.
struct GroupMembership {
    let group: StreamGroup
    /// Where the member begins in the group's waiting batch, in bytes; it joined after what precedes.
    var start: Int
    /// The place among the group's members.
    var index: Int32
}

/// The seats of one stream, by group; the usual one or none takes no memory of its own.
enum Seats {
    case none
    case one(GroupMembership)
    case many([ObjectIdentifier: GroupMembership])

    /// How many groups the stream is a member of.
    var count: Int {
        switch self {
        case .none: 0
        case .one: 1
        case .many(let seats): seats.count
        }
    }

    /// The seat in `group`; nil if the stream is no member.
    subscript(group: StreamGroup) -> GroupMembership? {
        switch self {
        case .none: nil
        case .one(let seat): seat.group === group ? seat : nil
        case .many(let seats): seats[ObjectIdentifier(group)]
        }
    }

    /// Whether the stream is a member of `group`.
    func contains(_ group: StreamGroup) -> Bool {
        switch self {
        case .none: false
        case .one(let seat): seat.group === group
        case .many(let seats): seats[ObjectIdentifier(group)] != nil
        }
    }

    /// Calls `body` with each seat, in no order.
    func forEach(_ body: (GroupMembership) -> Void) {
        switch self {
        case .none: break
        case .one(let seat): body(seat)
        case .many(let seats): for seat in seats.values { body(seat) }
        }
    }

    /// Adds a seat, or puts it in the place of an earlier one in the same group.
    mutating func put(_ seat: GroupMembership) {
        switch self {
        case .none:
            self = .one(seat)
        case .one(let only) where only.group === seat.group:
            self = .one(seat)
        case .one(let only):
            self = .many([ObjectIdentifier(only.group): only, ObjectIdentifier(seat.group): seat])
        case .many(var seats):
            // Out of the enumeration first: a second reference would copy all of them.
            self = .none
            seats[ObjectIdentifier(seat.group)] = seat
            self = .many(seats)
        }
    }

    /// Removes the seat in `group`, if there is one.
    mutating func take(_ group: StreamGroup) -> GroupMembership? {
        switch self {
        case .none: return nil
        case .one(let seat):
            guard seat.group === group else { return nil }
            self = .none
            return seat
        case .many(var seats):
            self = .none
            let seat = seats.removeValue(forKey: ObjectIdentifier(group))
            self = seats.isEmpty ? .none : .many(seats)
            return seat
        }
    }
}

extension Stream {
    /// How many groups the stream is a member of.
    public var groupCount: Int { seats.count }

    // Both change the seats outside of the stream, as `StreamGroup.change` does with the members.

    func put(_ seat: GroupMembership) {
        var seats = exchange(&seats, with: .none)
        seats.put(seat)
        self.seats = seats
        if seats.count > 1 { obstacles.insert(.shared) }
    }

    func takeSeat(in group: StreamGroup) -> GroupMembership? {
        var seats = exchange(&seats, with: .none)
        let seat = seats.take(group)
        self.seats = seats
        if seats.count <= 1 { obstacles.remove(.shared) }
        return seat
    }
}
