import Testing

@testable import DemoSite
import LiveRows

@Suite("The order of a live list") struct ListOrderTests {
    /// Applies operations to a, b, c, d; removed earlier were x behind b, y behind x, and z in front.
    private func apply(
        _ operations: ListOperation<Entry>...
    ) throws -> (ids: String, done: [ListOperation<Entry>?]) {
        let removed: [String: String?] = ["x": "b", "y": "x", "z": String?.none]
        var order = ListOrder(["a", "b", "c", "d"].map { Entry($0) }) { removed[$0] }
        let done = try operations.map { try order.apply($0) }
        return (order.ids.joined(), done)
    }

    @Test(arguments: [
        (ListOperation<Entry>.put(Entry("n"), after: nil), "nabcd", ListOperation<Entry>?.none),
        (.put(Entry("n"), after: "b"), "abncd", nil), (.put(Entry("n"), after: "d"), "abcdn", nil),
        (.put(Entry("c"), after: nil), "cabd", nil), (.put(Entry("a"), after: "c"), "bcad", nil),
        (.move("d", after: nil), "dabc", nil), (.move("a", after: "d"), "bcda", nil),
        (.move("b", after: "a"), "abcd", nil), (.update(Entry("c", "new")), "abcd", nil),
        (.remove("b"), "acd", nil),
        // A removed anchor is replaced by the nearest row before it that exists …
        (.put(Entry("n"), after: "x"), "abncd", .put(Entry("n"), after: "b")),
        (.put(Entry("n"), after: "y"), "abncd", .put(Entry("n"), after: "b")),
        (.put(Entry("n"), after: "z"), "nabcd", .put(Entry("n"), after: nil)),
        (.move("a", after: "y"), "bacd", .move("a", after: "b")),
        // … which may be the row itself: then it does not move.
        (.move("b", after: "y"), "abcd", .move("b", after: "a")),
        (.put(Entry("b", "new"), after: "x"), "abcd", .update(Entry("b", "new"))),
        // An unknown anchor.
        (.put(Entry("n"), after: "?"), "abcdn", .put(Entry("n"), after: "d")),
        (.move("b", after: "?"), "abcd", .move("b", after: "a")),
        // A row that is its own anchor does not move.
        (.move("b", after: "b"), "abcd", .move("b", after: "a")),
        (.put(Entry("b", "new"), after: "b"), "abcd", .update(Entry("b", "new"))),
    ])
    func applies(
        operation: ListOperation<Entry>,
        ids: String,
        done: ListOperation<Entry>?
    ) throws {
        let result = try apply(operation)
        #expect(result.ids == ids)
        #expect(result.done == [done ?? operation])
    }

    @Test(arguments: [
        ListOperation<Entry>.move("?", after: nil), .update(Entry("?")), .remove("?"),
    ])
    func anUnknownRowIsNoOperation(operation: ListOperation<Entry>) throws {
        let result = try apply(operation)
        #expect(result.ids == "abcd")
        #expect(result.done == [nil])
    }

    @Test func anAnchorMayBeRemovedByTheSameEdit() throws {
        let result = try apply(
            .remove("b"),
            .remove("a"),
            .put(Entry("n"), after: "b"),
            .put(Entry("a"), after: "d"),
            .move("c", after: "a")
        )
        #expect(result.ids == "ndac")
    }
}
