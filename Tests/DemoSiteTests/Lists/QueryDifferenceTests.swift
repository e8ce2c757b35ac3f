import Testing

@testable import DemoSite
import LiveRows

@Suite("The difference of two query results") struct QueryDifferenceTests {
    private func rows(_ ids: [Int], changed: Set<Int> = []) -> [Entry] {
        ids.map { Entry("\($0)", changed.contains($0) ? "new" : "old") }
    }

    @Test func equalResultsHaveNoOperations() {
        #expect(ListOperation.leading(from: rows([1, 2]), to: rows([1, 2])) == [])
    }

    @Test func operationsContainOnlyTheDifference() {
        let operations = ListOperation.leading(
            from: rows([1, 2, 3, 4]),
            to: rows([1, 5, 3, 4], changed: [4])
        )
        let expected: [ListOperation<Entry>] = [
            .remove("2"), .put(Entry("5", "old"), after: "1"), .update(Entry("4", "new")),
        ]
        #expect(operations == expected)
    }

    @Test func aRowThatMovedAndChangedIsPutOnce() {
        let operations = ListOperation.leading(
            from: rows([1, 2, 3]),
            to: rows([3, 1, 2], changed: [3])
        )
        #expect(operations == [.put(Entry("3", "new"), after: nil)])
    }

    @Test func duplicateIDsHaveNoOperations() {
        #expect(ListOperation.leading(from: rows([1, 2]), to: rows([2, 2, 1])) == nil)
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func whoAppliesTheOperationsHasTheResult(seed: UInt64) throws {
        var state = seed
        func below(_ limit: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % limit
        }
        func result() -> [Entry] {
            var ids = (1...10).filter { _ in below(3) > 0 }
            for index in ids.indices { ids.swapAt(index, Int(below(UInt64(ids.count)))) }
            return rows(ids, changed: Set(ids.filter { _ in below(4) == 0 }))
        }
        let (old, new) = (result(), result())
        var order = ListOrder(old) { _ in nil }
        for operation in try #require(ListOperation.leading(from: old, to: new)) {
            #expect(try order.apply(operation) == operation)
        }
        #expect(order.rows == new)
    }
}
