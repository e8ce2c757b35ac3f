import Testing

@testable import FanfareBench

@Suite("Tracking of deliveries") struct DeliveryTrackerTests {
    /// A tracker of two subscribers after some events, which the second has received in order.
    private func tracker(sent: Int, _ received: [UInt32]) -> DeliveryTracker {
        var tracker = DeliveryTracker(subscriberCount: 2)
        for number in 0..<sent {
            let sent = tracker.send()
            #expect(sent == UInt32(number))
            tracker.receive(UInt32(number), by: 1)
        }
        for number in received { tracker.receive(number, by: 0) }
        return tracker
    }

    struct Case: CustomTestStringConvertible {
        var received: [UInt32]
        var missing = 0, duplicated = 0, outOfOrder = 0
        var testDescription: String { "\(received)" }
    }

    @Test(arguments: [
        Case(received: [0, 1, 2, 3]),
        Case(received: [], missing: 4),
        Case(received: [0, 1, 2], missing: 1),
        Case(received: [0, 2, 3], missing: 1),
        Case(received: [3], missing: 3),
        Case(received: [0, 0, 1, 2, 3], duplicated: 1),
        Case(received: [0, 1, 2, 3, 3, 0], duplicated: 2),
        Case(received: [1, 0, 2, 3], outOfOrder: 1),
        Case(received: [3, 2, 1, 0], outOfOrder: 3),
        Case(received: [0, 2, 1, 1, 3], duplicated: 1, outOfOrder: 1),
        Case(received: [0, 2, 2], missing: 2, duplicated: 1),
        Case(received: [0, 1, 2, 3, 4], outOfOrder: 1),
        Case(received: [.max, 0, 1, 2, 3], outOfOrder: 1),
    ])
    func counts(_ given: Case) {
        let tracker = tracker(sent: 4, given.received)
        #expect(tracker.expected == 8)
        #expect(tracker.missing == given.missing)
        #expect(tracker.duplicated == given.duplicated)
        #expect(tracker.outOfOrder == given.outOfOrder)
        #expect(tracker.deliveries == 8 - given.missing)
        #expect((tracker.fault(stalled: nil) == nil) == (given.received == [0, 1, 2, 3]))
    }

    @Test func reportsFirstArrivals() {
        var tracker = DeliveryTracker(subscriberCount: 1)
        for _ in 0..<3 { _ = tracker.send() }
        let isFirst = [0, 0, 2, 1, 1, 3].map { tracker.receive($0, by: 0) }
        #expect(isFirst == [true, false, true, true, false, false])
    }

    private func receive(_ number: UInt32, by subscriber: Int, _ tracker: inout DeliveryTracker)
        -> Bool
    {
        tracker.receive(number, by: subscriber)
    }

    /// Three channels of two subscribers each: subscriber 4 is subscribed to channel 1.
    private func trackerOfChannels() -> DeliveryTracker {
        var tracker = DeliveryTracker(subscriberCount: 6, channelCount: 3)
        let numbers = (0..<7).map { tracker.send(on: $0 % 3) }
        #expect(numbers == [0, 1, 2, 3, 4, 5, 6])
        return tracker
    }

    @Test func numbersIdentifyTheChannel() {
        var tracker = trackerOfChannels()
        #expect(tracker.expected == 14)
        for number in UInt32(0)..<7 {
            for subscriber in [Int(number) % 3, Int(number) % 3 + 3] {
                #expect(receive(number, by: subscriber, &tracker) == true)
            }
        }
        #expect(tracker.fault(stalled: nil) == nil)
    }

    @Test func ofAnotherChannelIsOutOfOrder() {
        var tracker = trackerOfChannels()
        #expect(receive(0, by: 4, &tracker) == false)
        #expect(receive(2, by: 4, &tracker) == false)
        #expect(tracker.outOfOrder == 2)
        #expect(receive(1, by: 4, &tracker) == true)
        #expect(tracker.deliveries == 1)
    }

    @Test func eachChannelHasItsOwnNumbers() {
        var tracker = DeliveryTracker(subscriberCount: 2, channelCount: 2)
        let numbers = [1, 1, 0, 1].map { tracker.send(on: $0) }
        #expect(numbers == [1, 3, 0, 5])
        // Number 2 is of channel 0, which has sent one event so far.
        #expect(receive(2, by: 0, &tracker) == false)
        #expect(tracker.outOfOrder == 1)
        #expect(receive(5, by: 1, &tracker) == true)
        #expect(receive(3, by: 1, &tracker) == true)
        #expect(tracker.outOfOrder == 2)
        #expect(receive(3, by: 1, &tracker) == false)
        #expect(tracker.duplicated == 1)
        #expect(tracker.missing == 2)
    }

    @Test func faultsAreNamed() {
        #expect(tracker(sent: 4, [0, 1, 2, 3]).fault(stalled: nil) == nil)
        #expect(tracker(sent: 4, [0, 1, 3, 2]).fault(stalled: nil) == "1 out of order")
        #expect(tracker(sent: 4, [0, 1, 1]).fault(stalled: nil) == "2 lost, 1 duplicated")
        let silence = "no delivery for 0.5 s"
        #expect(tracker(sent: 4, []).fault(stalled: .milliseconds(500)) == "4 lost: \(silence)")
        #expect(
            tracker(sent: 1, [0]).fault(stalled: .milliseconds(500))
                == "an event was not answered: \(silence)"
        )
    }

    @Test func hasNoFaultBeforeAnythingIsSent() {
        #expect(DeliveryTracker(subscriberCount: 3).fault(stalled: nil) == nil)
    }
}
