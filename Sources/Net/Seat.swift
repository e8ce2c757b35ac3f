/// A stream's membership in a ``StreamGroup``.
public final class Seat {
    /// The stream that is a member.
    public let stream: Stream
    /// The group; nil once the seat is given up.
    public internal(set) var group: StreamGroup?
    /// The place in the group's arrays.
    var index: Int32
    /// Where the member begins in the group's waiting batch, in bytes; it joined after what precedes.
    var start: Int32
    // The stream's seats are chained, so that a closing stream can leave all its groups.
    var next: Seat?
    var previous: Seat?

    init(_ stream: Stream, in group: StreamGroup, index: Int32, start: Int32) {
        self.stream = stream
        self.group = group
        self.index = index
        self.start = start
    }
}

extension Stream {
    /// How many groups the stream is a member of.
    public var groupCount: Int { Int(seatCount) }

    func add(_ seat: Seat) {
        seat.next = firstSeat
        firstSeat?.previous = seat
        firstSeat = seat
        seatCount += 1
        if seatCount > 1 { obstacles.insert(.shared) }
    }

    func remove(_ seat: Seat) {
        if let previous = seat.previous { previous.next = seat.next } else { firstSeat = seat.next }
        seat.next?.previous = seat.previous
        seat.next = nil
        seat.previous = nil
        seatCount -= 1
        if seatCount <= 1 { obstacles.remove(.shared) }
    }

    /// Gives up all seats, without what waits in the groups.
    func leaveAllGroups() {
        while let seat = firstSeat { seat.group?.remove(seat) }
    }
}
