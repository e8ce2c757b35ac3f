import Testing

@testable import Net

@Suite("Memory of unprocessed input") struct InboundBudgetTests {
    @Test func isExhaustedAtItsLimit() {
        let budget = InboundBudget(byteCountMax: 10)
        budget.charge(9)
        #expect(!budget.isExhausted)
        budget.charge(1)
        #expect(budget.isExhausted)
        budget.refund(1)
        #expect(!budget.isExhausted)
        #expect(budget.byteCount == 9)
    }

    @Test func returnsThePeakSinceTheLastCall() {
        let budget = InboundBudget()
        budget.charge(10)
        budget.refund(8)
        budget.charge(3)
        #expect(budget.takePeak() == 10)
        budget.refund(5)
        #expect(budget.takePeak() == 5)
        #expect(budget.takePeak() == 0)
    }

    @Test("Memory is returned when a peak has been over for a whole interval, and once")
    func peaksAreOver() {
        let freed = MemoryTrim.freedCountMin
        for (peaks, expected) in [
            ([0, freed, 0, 0], [false, false, true, false]),
            ([freed - 1, 0, 0], [false, false, false]),
            ([5 * freed, 4 * freed, 4 * freed, 3 * freed], [false, true, false, true]),
            // A load that goes up and down within each interval.
            ([5 * freed, 5 * freed, 5 * freed, 1], [false, false, false, true]),
        ] {
            var trim = MemoryTrim()
            #expect(peaks.map { trim.isOver(peak: $0) } == expected)
        }
    }
}
