import Testing

@testable import FanfareBench

@Suite("Sequence of received events") struct SequenceTrackerTests {
    struct Case: CustomTestStringConvertible {
        var arrivals: [UInt32]
        var lost = 0, misplaced = 0, missing = 0
        var testDescription: String { "\(arrivals)" }
    }

    /// The events of the second of three channels are 1, 4, 7 …; the visitor subscribed when 7 was the next.
    @Test(arguments: [
        Case(arrivals: [7, 10, 13]),
        // An event that was in flight at the subscription may arrive.
        Case(arrivals: [4, 7, 10, 13]),
        Case(arrivals: [], missing: 3),
        Case(arrivals: [7], missing: 2),
        Case(arrivals: [10, 13], lost: 1),
        Case(arrivals: [4, 10, 13], lost: 1),
        Case(arrivals: [7, 13], lost: 1),
        Case(arrivals: [7, 10, 10, 13], misplaced: 1),
        Case(arrivals: [7, 13, 10], lost: 1, misplaced: 1),
        Case(arrivals: [7, 4, 10, 13], misplaced: 1),
    ])
    func isChecked(_ given: Case) {
        var sequence = SequenceTracker(from: 7, stride: 3)
        var counts = DeliveryCounts()
        for number in given.arrivals { counts.count(sequence.receive(number)) }
        #expect(counts.deliveries == given.arrivals.count)
        #expect(counts.lost == given.lost)
        #expect(counts.misplaced == given.misplaced)
        #expect(sequence.missing(before: 16) == given.missing)
    }

    /// A client that comes back receives events again, or without those that it missed.
    @Test func eventsOverSeveralConnectionsAreRepeatedOrSkipped() {
        var sequence = SequenceTracker(from: 0, stride: 1)
        let arrivals = [0, 0, 3].map { sequence.receive($0) }
        #expect(arrivals == [.inOrder, .misplaced, .afterGap(lost: 2)])
        #expect(sequence.next == 4)
    }

    @Test func nothingIsMissingBeforeTheFirstEvent() {
        let sequence = SequenceTracker(from: 7, stride: 3)
        #expect(sequence.missing(before: 7) == 0)
        #expect(sequence.missing(before: 4) == 0)
    }

    /// The numbers of all sources are in one order, so that a number of another source counts too.
    @Test(arguments: [(7, 0), (8, 1), (10, 1), (11, 2), (13, 2)])
    func eventsBeforeAnotherSourcesNumberAreMissing(_ number: UInt32, _ count: Int) {
        #expect(SequenceTracker(from: 7, stride: 3).missing(before: number) == count)
    }

    @Test func countsAreAddedAndFaultsNamed() {
        let sum =
            DeliveryCounts(deliveries: 1_000, lost: 2)
            + DeliveryCounts(deliveries: 234, misplaced: 3)
        #expect(sum == DeliveryCounts(deliveries: 1_234, lost: 2, misplaced: 3))
        #expect(sum.fault == "2 lost, 3 repeated or out of order")
        #expect(sum.text == "1,234 received, 2 lost, 3 repeated or out of order")
        #expect(DeliveryCounts(deliveries: 5).fault == nil)
        #expect(DeliveryCounts(deliveries: 5).text == "5 received, each once and in order")
    }
}

@Suite("Disconnections") struct DisconnectionCountsTests {
    @Test func areCountedByCode() {
        var disconnections = DisconnectionCounts()
        #expect(disconnections.description == "none")
        for _ in 0..<1_200 { disconnections.count(Disconnection(wasSubscribed: true, code: 4100)) }
        disconnections.count(Disconnection(wasSubscribed: true, code: 4200))
        disconnections.count(Disconnection(wasSubscribed: true, code: nil))
        disconnections.count(Disconnection(wasSubscribed: false, code: 4100))
        disconnections.count(Disconnection(wasSubscribed: false, code: nil))
        #expect(
            disconnections.description
                == "1,200 with 4100, 1 with 4200, 1 without a code, 1 refused (no code), "
                + "1 refused (4100)"
        )
        #expect(disconnections.total == 1_204)
        #expect(
            disconnections.members("slow").map(\.name) == [
                "slow_closed_4100", "slow_closed_4200", "slow_ended",
                "slow_refused_without_code", "slow_refused_4100",
            ]
        )
        #expect(disconnections.fault == nil)
    }

    @Test(arguments: [1002, 1006, 3999, 4301]) func aCodeOfAnErrorIsAFault(code: Int) {
        var disconnections = DisconnectionCounts()
        disconnections.count(Disconnection(wasSubscribed: true, code: code))
        #expect(disconnections.fault == "connections were closed with \(code)")
    }
}
