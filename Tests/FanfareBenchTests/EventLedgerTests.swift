import Testing

@testable import FanfareBench

@Suite("Events and how they were answered") struct EventLedgerTests {
    /// Two connections and three readers; each connection has sent two events: 0 and 2, 1 and 3.
    private var ledger: EventLedger {
        var ledger = EventLedger(publisherCount: 2, readerCount: 3)
        for publisher in [0, 1, 0, 1] { _ = ledger.send(by: publisher) }
        return ledger
    }

    @Test func numbersIdentifyTheConnection() {
        var ledger = EventLedger(publisherCount: 3, readerCount: 1)
        #expect([1, 1, 2, 0].map { ledger.send(by: $0) } == [1, 4, 2, 0])
        #expect(ledger.sentCount == 4)
        #expect(ledger.unansweredCount == 4)
    }

    struct Case: CustomTestStringConvertible {
        var testDescription: String
        /// By number; nil for no answer.
        var answers: [Bool?]
        /// The events that each of the three readers received.
        var arrivals: [[UInt32]]
        var lost = 0
        var refused = 0
        var misplaced = 0
        var fault: String?
    }

    @Test(arguments: [
        Case(
            testDescription: "all accepted, the connections' events mixed in any way",
            answers: [true, true, true, true],
            arrivals: [[0, 1, 2, 3], [0, 2, 1, 3], [1, 3, 0, 2]]
        ),
        Case(
            testDescription: "refused events are not delivered",
            answers: [true, false, true, false],
            arrivals: [[0, 2], [0, 2], [0, 2]]
        ),
        Case(
            testDescription: "unanswered events may be delivered",
            answers: [true, true, nil, nil],
            arrivals: [[0, 1, 2], [0, 1], [0, 1, 3]]
        ),
        Case(
            testDescription: "one reader lacks an event",
            answers: [true, true, true, true],
            arrivals: [[0, 1, 2, 3], [0, 1, 3], [0, 1, 2, 3]],
            lost: 1,
            fault: "1 deliveries of accepted events lost"
        ),
        Case(
            testDescription: "an event that was refused reaches one reader",
            answers: [true, true, false, true],
            arrivals: [[0, 1, 3], [0, 1, 2, 3], [0, 1, 3]],
            refused: 1,
            fault: "1 deliveries of events answered 503"
        ),
        Case(
            testDescription: "an event comes twice",
            answers: [true, true, true, true],
            arrivals: [[0, 1, 2, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]],
            misplaced: 1,
            fault: "1 repeated or out of order"
        ),
        Case(
            testDescription: "two events of a connection are swapped: the earlier one is lost",
            answers: [true, true, true, true],
            arrivals: [[2, 0, 1, 3], [0, 1, 2, 3], [0, 1, 2, 3]],
            lost: 1,
            misplaced: 1,
            fault: "1 deliveries of accepted events lost, 1 repeated or out of order"
        ),
        Case(
            testDescription: "an event comes that was never sent",
            answers: [true, true, true, true],
            arrivals: [[0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2, 3]],
            misplaced: 1,
            fault: "1 repeated or out of order"
        ),
    ])
    func isChecked(_ given: Case) {
        var ledger = ledger
        for (reader, numbers) in given.arrivals.enumerated() {
            for number in numbers { ledger.receive(number, by: reader) }
        }
        for (number, isAccepted) in given.answers.enumerated() {
            if let isAccepted { ledger.answer(UInt32(number), isAccepted: isAccepted) }
        }
        #expect(
            ledger.outcome
                == .init(lost: given.lost, deliveredThoughRefused: given.refused)
        )
        #expect(ledger.misplacedCount == given.misplaced)
        #expect(ledger.fault(ledger.outcome) == given.fault)
    }

    @Test func answersMayArriveBeforeOrAfterDeliveries() {
        var ledger = ledger
        #expect(ledger.outstanding == 12)
        for reader in 0..<3 { ledger.receive(0, by: reader) }
        #expect(ledger.outstanding == 9)
        ledger.answer(0, isAccepted: true)
        #expect(ledger.outstanding == 9)
        ledger.answer(1, isAccepted: false)
        #expect(ledger.outstanding == 6)
        #expect(ledger.unansweredCount == 2)
    }

    @Test func removedReadersAreNotAwaited() {
        var ledger = ledger
        ledger.receive(0, by: 2)
        ledger.removeReader(2)
        #expect(ledger.outstanding == 8)
        for reader in 0..<2 { for number in 0..<4 { ledger.receive(UInt32(number), by: reader) } }
        #expect(ledger.outstanding == 0)
        for number in 0..<4 { ledger.answer(UInt32(number), isAccepted: true) }
        #expect(ledger.outcome.lost == 3)
    }

    @Test func discardedDeliveriesAreLost() {
        var ledger = ledger
        ledger.discardOutstanding()
        #expect(ledger.outstanding == 0)
        _ = ledger.send(by: 0)
        #expect(ledger.outstanding == 3)
        ledger.answer(0, isAccepted: true)
        #expect(ledger.outcome.lost == 3)
    }
}
