import Testing

@testable import fanfare

@Suite("Tally of a benchmark") struct BenchTallyTests {
    /// A tally of two subscribers after some events, which the second has received in order.
    private func tally(sent: Int, _ received: [UInt32]) -> Tally {
        var tally = Tally(subscriberCount: 2)
        for number in 0..<sent {
            #expect(tally.send() == UInt32(number))
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

    @Test func isFaultlessBeforeAnythingIsSent() {
        #expect(Tally(subscriberCount: 3).isFaultless)
    }
}
