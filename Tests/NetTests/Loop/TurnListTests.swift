import Testing

@testable import Net

@Suite("Work list of a turn") struct TurnListTests {
    @Test(arguments: [0, 1, 2, 3, 100]) func isTakenInOrder(count: Int) {
        var list = TurnList<Int>()
        for number in 0..<count { list.append(number) }
        #expect(list.isEmpty == (count == 0))
        #expect(list.take().reversed() == Array(0..<count))
        #expect(list.isEmpty)
    }

    @Test func elementsAppendedMeanwhileWaitForTheNextTake() {
        var list = TurnList<Int>()
        list.append(1)
        list.append(2)
        var first = list.take()
        var done: [Int] = []
        while let number = first.popLast() {
            done.append(number)
            list.append(number * 10)
        }
        list.recycle(first)
        #expect(done == [1, 2])
        #expect(list.take().reversed() == [10, 20])
    }

    @Test func retainsNoProcessedElements() {
        final class Thing {}
        var list = TurnList<Thing>()
        weak var seen: Thing?
        do {
            let thing = Thing()
            seen = thing
            list.append(thing)
        }
        #expect(seen != nil)
        var things = list.take()
        #expect(things.popLast() != nil)
        list.recycle(things)
        #expect(seen == nil)
        list.append(Thing())
        list.removeAll()
        #expect(list.isEmpty)
    }
}
