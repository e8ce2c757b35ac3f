import Testing

@testable import Net

@Suite("Memory for what has come in") struct InboundBudgetTests {
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
}
