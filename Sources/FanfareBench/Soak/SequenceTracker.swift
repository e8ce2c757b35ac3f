import CommandSupport

/// What one reader has received of a source's numbered events, from when it came until it left.
struct SequenceTracker: Equatable {
    /// The number that must come next; nil before the first has come.
    private(set) var next: UInt32?
    /// The first that was sent when the reader had already been told that it is subscribed: one before it may have been
    /// on its way, but none behind it may be the first to come.
    let floor: UInt32
    /// The distance between a source's numbers.
    let stride: UInt32

    /// A reader that has received nothing.
    ///
    /// - Parameters:
    ///   - floor: The number of the source's next event.
    ///   - stride: The distance between the source's numbers.
    init(from floor: UInt32, stride: UInt32) {
        self.floor = floor
        self.stride = stride
    }

    /// What came of an event's arrival.
    enum Arrival: Equatable {
        /// It was the one that had to come.
        case inOrder
        /// So many before it never came, or will come too late.
        case afterGap(lost: Int)
        /// It had come before, or others behind it had.
        case misplaced
    }

    /// Notes an event that has arrived.
    mutating func receive(_ number: UInt32) -> Arrival {
        let expected = next ?? min(number, floor)
        guard number >= expected else { return .misplaced }
        next = number + stride
        return number == expected
            ? .inOrder : .afterGap(lost: Int((number - expected) / stride))
    }

    /// How many of the events before `upcoming`, the number of the source's next one, have not come.
    func missing(before upcoming: UInt32) -> Int {
        let expected = next ?? floor
        return upcoming > expected ? Int((upcoming - expected) / stride) : 0
    }
}

/// What readers have received, all together.
struct DeliveryCounts: Equatable {
    /// Events that arrived.
    var deliveries = 0
    /// Events that did not.
    var lost = 0
    /// Events that came twice, or behind a later one.
    var misplaced = 0

    /// Counts what came of an arrival.
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

    /// What is wrong, in a line; nil if nothing is.
    var fault: String? {
        let faults = [
            lost > 0 ? "\(grouped(lost)) lost" : nil,
            misplaced > 0 ? "\(grouped(misplaced)) repeated or out of order" : nil,
        ].compactMap { $0 }
        return faults.isEmpty ? nil : faults.joined(separator: ", ")
    }

    /// For people.
    var text: String { "\(grouped(deliveries)) received, \(fault ?? "each once and in order")" }

    /// For programs.
    func members(_ prefix: String) -> [BenchReport.Member] {
        [
            ("\(prefix)_deliveries", .integer(deliveries)), ("\(prefix)_lost", .integer(lost)),
            ("\(prefix)_misplaced", .integer(misplaced)),
        ]
    }
}
