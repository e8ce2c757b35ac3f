import Testing

@testable import FanfareBench

@Suite("Tally of a benchmark") struct BenchTallyTests {
    /// A tally of two subscribers after some events, which the second has received in order.
    private func tally(sent: Int, _ received: [UInt32]) -> Tally {
        var tally = Tally(subscriberCount: 2)
        for number in 0..<sent {
            let sent = tally.send()
            #expect(sent == UInt32(number))
            tally.receive(UInt32(number), by: 1)
        }
        for number in received { tally.receive(number, by: 0) }
        return tally
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
        let tally = tally(sent: 4, given.received)
        #expect(tally.expected == 8)
        #expect(tally.missing == given.missing)
        #expect(tally.duplicated == given.duplicated)
        #expect(tally.outOfOrder == given.outOfOrder)
        #expect(tally.deliveries == 8 - given.missing)
        #expect(tally.isFaultless == (given.received == [0, 1, 2, 3]))
    }

    @Test func tellsFirstArrivals() {
        var tally = Tally(subscriberCount: 1)
        for _ in 0..<3 { _ = tally.send() }
        let isFirst = [0, 0, 2, 1, 1, 3].map { tally.receive($0, by: 0) }
        #expect(isFirst == [true, false, true, true, false, false])
    }

    private func receive(_ number: UInt32, by subscriber: Int, _ tally: inout Tally) -> Bool {
        tally.receive(number, by: subscriber)
    }

    /// Three channels of two subscribers each: subscriber 4 listens to channel 1.
    private func tallyOfChannels() -> Tally {
        var tally = Tally(subscriberCount: 6, channelCount: 3)
        let numbers = (0..<7).map { tally.send(on: $0 % 3) }
        #expect(numbers == [0, 1, 2, 3, 4, 5, 6])
        return tally
    }

    @Test func numbersTellTheirChannel() {
        var tally = tallyOfChannels()
        #expect(tally.expected == 14)
        for number in UInt32(0)..<7 {
            for subscriber in [Int(number) % 3, Int(number) % 3 + 3] {
                #expect(receive(number, by: subscriber, &tally) == true)
            }
        }
        #expect(tally.isFaultless)
    }

    @Test func ofAnotherChannelIsOutOfOrder() {
        var tally = tallyOfChannels()
        #expect(receive(0, by: 4, &tally) == false)
        #expect(receive(2, by: 4, &tally) == false)
        #expect(tally.outOfOrder == 2)
        #expect(receive(1, by: 4, &tally) == true)
        #expect(tally.deliveries == 1)
    }

    @Test func channelsAreNumberedEachForItself() {
        var tally = Tally(subscriberCount: 2, channelCount: 2)
        let numbers = [1, 1, 0, 1].map { tally.send(on: $0) }
        #expect(numbers == [1, 3, 0, 5])
        // Number 2 is of channel 0, which has sent one event so far.
        #expect(receive(2, by: 0, &tally) == false)
        #expect(tally.outOfOrder == 1)
        #expect(receive(5, by: 1, &tally) == true)
        #expect(receive(3, by: 1, &tally) == true)
        #expect(tally.outOfOrder == 2)
        #expect(receive(3, by: 1, &tally) == false)
        #expect(tally.duplicated == 1)
        #expect(tally.missing == 2)
    }

    @Test func namesWhatIsWrong() {
        #expect(tally(sent: 4, [0, 1, 2, 3]).fault(stalled: nil) == nil)
        #expect(tally(sent: 4, [0, 1, 3, 2]).fault(stalled: nil) == "1 out of order")
        #expect(tally(sent: 4, [0, 1, 1]).fault(stalled: nil) == "2 lost, 1 duplicated")
        let silence = "nothing arrived any more for 0.5 s"
        #expect(tally(sent: 4, []).fault(stalled: .milliseconds(500)) == "4 lost: \(silence)")
        #expect(
            tally(sent: 1, [0]).fault(stalled: .milliseconds(500))
                == "an event was not answered: \(silence)"
        )
    }

    @Test func isFaultlessBeforeAnythingIsSent() {
        #expect(Tally(subscriberCount: 3).isFaultless)
    }
}
