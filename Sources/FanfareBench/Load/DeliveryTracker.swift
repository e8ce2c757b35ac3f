import CommandSupport
import Primitives

/// Checks that each subscriber receives each event of its channel once and in order.
///
/// Events are numbered over all channels: of 3 channels, the second has the events 1, 4, 7 …, so that a number
/// identifies its channel. Subscriber `i` of `n` channels is subscribed to channel `i % n`.
struct DeliveryTracker {
    private(set) var sentCount = 0
    private(set) var deliveries = 0
    /// Deliveries of an event that the subscriber had received before.
    private(set) var duplicated = 0
    /// Deliveries that came after a later one, of another channel, or of an event that was never sent.
    private(set) var outOfOrder = 0
    /// The number of deliveries of each event.
    let subscribersPerChannel: Int

    /// The number of each channel's next event.
    private var unsent: [UInt32]
    /// The number that each subscriber should receive next.
    private var next: [UInt32]
    /// Skipped deliveries, which may still arrive: the subscriber in the high half, the number in the low half.
    private var skipped: Set<UInt64> = []

    /// Creates a tracker without events; the number of subscribers is a multiple of that of channels.
    init(subscriberCount: Int, channelCount: Int = 1) {
        precondition(subscriberCount.isMultiple(of: channelCount))
        subscribersPerChannel = subscriberCount / channelCount
        unsent = (0..<UInt32(channelCount)).map { $0 }
        next = (0..<subscriberCount).map { UInt32($0 % channelCount) }
    }

    var channelCount: Int { unsent.count }
    func nextNumber(on channel: Int) -> UInt32 { unsent[channel] }
    var expected: Int { sentCount * subscribersPerChannel }

    /// Deliveries that have not arrived: in flight, or at the end lost.
    var missing: Int { expected - deliveries }

    /// Deliveries that have not arrived although a later one has.
    var skippedCount: Int { skipped.count }

    /// Grows with each event and delivery.
    var progress: Int { sentCount + deliveries + duplicated }

    /// Counts a channel's next event as sent; returns its number.
    mutating func send(on channel: Int = 0) -> UInt32 {
        sentCount += 1
        defer { unsent[channel] += UInt32(channelCount) }
        return unsent[channel]
    }

    /// Counts a delivery; returns whether the subscriber received this event for the first time.
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
        let high = UInt64(subscriber) << 32
        if number > expected {
            for lost in stride(from: expected, to: number, by: channelCount) {
                skipped.insert(high | UInt64(lost))
            }
            next[subscriber] = number + UInt32(channelCount)
        } else if skipped.remove(high | UInt64(number)) != nil {
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
    /// The faults in one line; nil if every delivery arrived once and in order within the stall timeout.
    func fault(stalled: Duration?) -> String? {
        let faults = joined([
            counted(missing, "lost"),
            counted(duplicated, "duplicated"),
            counted(outOfOrder, "out of order"),
        ])
        guard let stalled else { return faults }
        return "\(faults ?? "an event was not answered"): no delivery for \(stalled.inSeconds) s"
    }
}
