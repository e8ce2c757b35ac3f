import Testing

@testable import Gateway

@Suite("Order of send requests") struct SendOrderTests {
    /// The messages that can be processed, as text.
    private func due(_ order: inout SendOrder) -> String {
        var messages: [String] = []
        while let message = order.next() {
            messages.append(String(decoding: message, as: UTF8.self))
        }
        return messages.joined(separator: " ")
    }

    private func add(_ text: String, _ number: Int?, to order: inout SendOrder) {
        order.add(text.split(separator: " ").map { Array($0.utf8) }, number: number)
    }

    @Test(
        "Requests that overtook each other are put in order",
        arguments: [
            [1, 2, 3, 4, 5, 6], [1, 6, 5, 4, 3, 2], [1, 3, 5, 2, 4, 6], [1, 4, 2, 6, 3, 5],
        ]
    )
    func sorts(numbers: [Int]) {
        var order = SendOrder()
        var messages: [String] = []
        for number in numbers {
            add("\(number)a \(number)b", number, to: &order)
            messages.append(due(&order))
        }
        #expect(
            messages.filter { !$0.isEmpty }.joined(separator: " ")
                == (1...6).map { "\($0)a \($0)b" }.joined(separator: " ")
        )
        #expect(order.isEmpty && !order.isWaiting && order.byteCount == 0)
    }

    @Test("A request without messages has its place in the order, too") func empty() {
        var order = SendOrder()
        add("", 7, to: &order)
        add("b", 9, to: &order)
        #expect(due(&order) == "" && order.isWaiting)
        add("", 8, to: &order)
        #expect(due(&order) == "b" && !order.isWaiting)
    }

    @Test("A missing request is waited for until the wait ends") func skips() {
        var order = SendOrder()
        add("a", 1, to: &order)
        add("c", 3, to: &order)
        add("e", 5, to: &order)
        #expect(due(&order) == "a" && order.byteCount == 2)
        order.skipMissing()
        #expect(due(&order) == "c" && order.isWaiting)
        // It comes after all, too late for its place.
        add("b", 2, to: &order)
        #expect(due(&order) == "b")
        order.skipMissing()
        #expect(due(&order) == "e" && !order.isWaiting && order.byteCount == 0)
    }

    @Test("Only so many requests wait") func limit() {
        var order = SendOrder()
        add("0", 0, to: &order)
        for number in 2...SendOrder.waitingMax + 1 { add("x", number, to: &order) }
        #expect(due(&order) == "0")
        add("y", 100, to: &order)
        #expect(due(&order).count == 2 * SendOrder.waitingMax - 1)
        #expect(order.byteCount == 1)
    }

    @Test(
        "Requests without numbers, with the same or with the largest are processed",
        arguments: [
            [nil, nil, nil], [4, 4, 4], [Int(UInt32.max), 0, nil],
        ]
    )
    func unusual(numbers: [Int?]) {
        var order = SendOrder()
        for number in numbers { add("x", number, to: &order) }
        order.skipMissing()
        #expect(due(&order) == "x x x")
    }
}
