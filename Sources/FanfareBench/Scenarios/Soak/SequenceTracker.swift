import CommandSupport

/// Checks the events that one reader receives of one source, from its subscription on.
struct SequenceTracker: Equatable {
    /// The number of the next event; nil before the first.
    private(set) var next: UInt32?
    /// The number of the first event that was sent after the subscription was acknowledged.
    ///
    /// The first event to arrive may be an earlier one that was in flight, but not a later one.
    let floor: UInt32
    /// The difference between the numbers of two successive events of the source.
    let stride: UInt32

    /// Creates a tracker without events, of a source whose next event has the number `floor`.
    init(from floor: UInt32, stride: UInt32) {
        self.floor = floor
        self.stride = stride
    }

    enum Arrival: Equatable {
        case inOrder
        /// After a gap of this many events, which count as lost.
        case afterGap(lost: Int)
        /// Repeated, or out of order.
        case misplaced
    }

    mutating func receive(_ number: UInt32) -> Arrival {
        let expected = next ?? min(number, floor)
        guard number >= expected else { return .misplaced }
        next = number + stride
        return number == expected
            ? .inOrder : .afterGap(lost: Int((number - expected) / stride))
    }

    /// The number of the source's events before a number that have not arrived.
    func missing(before upcoming: UInt32) -> Int {
        let expected = next ?? floor
        return upcoming > expected ? Int((upcoming - expected + stride - 1) / stride) : 0
    }
}

struct DeliveryCounts: Equatable {
    var deliveries = 0
    var lost = 0
    var misplaced = 0

    mutating func count(_ arrival: SequenceTracker.Arrival) {
        deliveries += 1
        switch arrival {
        case .inOrder: break
        case .afterGap(let count): lost += count
        case .misplaced: misplaced += 1
        }
    }

    static func + (left: DeliveryCounts, right: DeliveryCounts) -> DeliveryCounts {
        DeliveryCounts(
            deliveries: left.deliveries + right.deliveries,
            lost: left.lost + right.lost,
            misplaced: left.misplaced + right.misplaced
        )
    }

    var fault: String? {
        joined([counted(lost, "lost"), counted(misplaced, "repeated or out of order")])
    }

    var text: String { "\(grouped(deliveries)) received, \(fault ?? "each once and in order")" }

    func members(_ prefix: String) -> [BenchReport.Member] {
        [
            ("\(prefix)_deliveries", .integer(deliveries)), ("\(prefix)_lost", .integer(lost)),
            ("\(prefix)_misplaced", .integer(misplaced)),
        ]
    }
}

extension DeliveryCounts {
    /// The deliveries that a tracker has checked; those that have not arrived by the time-out are lost.
    init(_ tracker: DeliveryTracker, isTimedOut: Bool) {
        self.init(
            deliveries: tracker.deliveries,
            lost: isTimedOut ? tracker.missing : tracker.skippedCount,
            misplaced: tracker.duplicated + tracker.outOfOrder
        )
    }
}
