import CommandSupport
import Primitives

/// Whether each subscriber received each event of its channel once and in order.
///
/// Events are numbered over all channels: of 3 channels, the second has the events 1, 4, 7 …, so a
/// number says which channel it belongs to. Subscriber `i` of `n` channels listens to channel `i % n`.
struct DeliveryTracker {
    /// How many events were sent.
    private(set) var sentCount = 0
    /// Deliveries that arrived, each counted the first time.
    private(set) var deliveries = 0
    /// Arrivals of an event that the subscriber had received before.
    private(set) var duplicated = 0
    /// Deliveries that came behind a later one, of another channel, or that were never sent.
    private(set) var outOfOrder = 0
    /// How many deliveries an event makes.
    let subscribersPerChannel: Int

    /// The number that each channel's next event will have.
    private var unsent: [UInt32]
    /// The number that each subscriber is to receive next.
    private var next: [UInt32]
    /// What was skipped and may still come: a subscriber in the high half, a number in the low one.
    private var skipped: Set<UInt64> = []

    /// Nothing sent and nothing received.
    ///
    /// - Parameters:
    ///   - subscriberCount: A multiple of `channelCount`, at least that.
    ///   - channelCount: At least 1.
    init(subscriberCount: Int, channelCount: Int = 1) {
        precondition(subscriberCount.isMultiple(of: channelCount))
        subscribersPerChannel = subscriberCount / channelCount
        unsent = (0..<UInt32(channelCount)).map { $0 }
        next = (0..<subscriberCount).map { UInt32($0 % channelCount) }
    }

    /// How many channels there are.
    var channelCount: Int { unsent.count }

    /// The number that a channel's next event will have.
    func nextNumber(on channel: Int) -> UInt32 { unsent[channel] }

    /// How many deliveries there are if nothing is lost.
    var expected: Int { sentCount * subscribersPerChannel }

    /// Deliveries that have not arrived: under way, and at the end lost.
    var missing: Int { expected - deliveries }

    /// Deliveries that a later one has skippedCount, and that have not arrived since.
    var skippedCount: Int { skipped.count }

    /// Whether nothing is missing, came twice or in another order.
    var isFaultless: Bool { missing == 0 && duplicated == 0 && outOfOrder == 0 }

    /// Counts an event as sent.
    ///
    /// - Parameter channel: Its channel's index.
    /// - Returns: Its number.
    mutating func send(on channel: Int = 0) -> UInt32 {
        sentCount += 1
        defer { unsent[channel] += UInt32(channelCount) }
        return unsent[channel]
    }

    /// Counts what a subscriber received.
    ///
    /// - Returns: Whether it received this event for the first time.
    @discardableResult
    mutating func receive(_ number: UInt32, by subscriber: Int) -> Bool {
        let expected = next[subscriber]
        guard number == expected, number < unsent[subscriber % channelCount] else {
            return receiveUnexpected(number, by: subscriber, expected: expected)
        }
        next[subscriber] = expected + UInt32(channelCount)
        deliveries += 1
        return true
    }

    private mutating func receiveUnexpected(
        _ number: UInt32,
        by subscriber: Int,
        expected: UInt32
    ) -> Bool {
        let channel = subscriber % channelCount
        guard Int(number) % channelCount == channel, number < unsent[channel] else {
            outOfOrder += 1
            return false
        }
        let who = UInt64(subscriber) << 32
        if number > expected {
            for lost in stride(from: expected, to: number, by: channelCount) {
                skipped.insert(who | UInt64(lost))
            }
            next[subscriber] = number + UInt32(channelCount)
        } else if skipped.remove(who | UInt64(number)) != nil {
            outOfOrder += 1
        } else {
            duplicated += 1
            return false
        }
        deliveries += 1
        return true
    }
}

extension DeliveryTracker {
    /// What is wrong, in a line; nil if every delivery arrived once and in order.
    ///
    /// - Parameter stalled: How long nothing had moved when the run was given up; nil if it was not.
    /// - Returns: The line, without a full stop.
    func fault(stalled: Duration?) -> String? {
        guard stalled != nil || !isFaultless else { return nil }
        let faults = [
            missing > 0 ? "\(grouped(missing)) lost" : nil,
            duplicated > 0 ? "\(grouped(duplicated)) duplicated" : nil,
            outOfOrder > 0 ? "\(grouped(outOfOrder)) out of order" : nil,
        ].compactMap { $0 }
        let what = faults.isEmpty ? "an event was not answered" : faults.joined(separator: ", ")
        guard let stalled else { return what }
        return what + ": nothing arrived any more for \(stalled.inSeconds) s"
    }
}
