/// Whether each subscriber received each event once and in order.
struct Tally {
    /// How many events were sent.
    private(set) var sentCount = 0
    /// Deliveries that arrived, each counted the first time.
    private(set) var deliveries = 0
    /// Arrivals of an event that the subscriber had received before.
    private(set) var duplicated = 0
    /// Deliveries that came behind a later one, or whose sequence number was never sent.
    private(set) var outOfOrder = 0

    /// The sequence number that each subscriber is to receive next.
    private var next: [UInt32]
    /// What was skipped and may still come: a subscriber in the high half, a number in the low one.
    private var skipped: Set<UInt64> = []

    /// Nothing sent and nothing received.
    ///
    /// - Parameter subscriberCount: At least 1.
    init(subscriberCount: Int) { next = [UInt32](repeating: 0, count: subscriberCount) }

    /// How many deliveries there are if nothing is lost.
    var expected: Int { sentCount * next.count }

    /// Deliveries that have not arrived: under way, and at the end lost.
    var missing: Int { expected - deliveries }

    /// Whether nothing is missing, came twice or in another order.
    var isFaultless: Bool { missing == 0 && duplicated == 0 && outOfOrder == 0 }

    /// Counts an event as sent.
    ///
    /// - Returns: Its sequence number.
    mutating func send() -> UInt32 {
        defer { sentCount += 1 }
        return UInt32(sentCount)
    }

    /// Counts what a subscriber received.
    ///
    /// - Returns: Whether it received this event for the first time.
    @discardableResult
    mutating func receive(_ sequence: UInt32, by subscriber: Int) -> Bool {
        let expected = next[subscriber]
        guard sequence != expected || sequence >= sentCount else {
            next[subscriber] = expected + 1
            deliveries += 1
            return true
        }
        return receiveOutOfTurn(sequence, by: subscriber, expected: expected)
    }

    private mutating func receiveOutOfTurn(
        _ sequence: UInt32,
        by subscriber: Int,
        expected: UInt32
    ) -> Bool {
        guard sequence < sentCount else {
            outOfOrder += 1
            return false
        }
        let who = UInt64(subscriber) << 32
        if sequence > expected {
            for number in expected..<sequence { skipped.insert(who | UInt64(number)) }
            next[subscriber] = sequence + 1
        } else if skipped.remove(who | UInt64(sequence)) != nil {
            outOfOrder += 1
        } else {
            duplicated += 1
            return false
        }
        deliveries += 1
        return true
    }
}
