import Testing

import Primitives

@Suite struct QueueTests {
    @Test(
        "Behaves as an array whose first elements are removed",
        arguments: 0..<20 as Range<UInt64>
    )
    func twin(seed: UInt64) {
        var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next(_ bound: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % bound
        }
        var (queue, twin) = (Queue<Int>(), [Int]())
        for step in 0..<2_000 {
            switch next(8) {
            case 0...3:
                queue.append(step)
                twin.append(step)
            case 4, 5:
                guard !twin.isEmpty else { continue }
                #expect(queue.removeFirst() == twin.removeFirst())
            case 6:
                let count = next(twin.count + 1)
                queue.removeFirst(count)
                twin.removeFirst(count)
            default:
                let elements = Array(0..<next(4))
                queue.prepend(elements)
                twin.insert(contentsOf: elements, at: 0)
            }
            #expect(queue.count == twin.count && queue.isEmpty == twin.isEmpty)
            #expect(queue.first == twin.first && queue.last == twin.last)
            guard !twin.isEmpty else { continue }
            let index = next(twin.count)
            queue[index] += 1
            twin[index] += 1
            #expect(Array(queue.elements) == twin)
        }
    }

    @Test("An element is released when it leaves", arguments: [false, true])
    func release(severalAtOnce: Bool) {
        final class Element {}
        var queue = Queue((0..<100).map { _ in Element() })
        weak let first = queue.first
        if severalAtOnce { queue.removeFirst(1) } else { queue.removeFirst() }
        #expect(first == nil && queue.count == 99)
    }

    @Test("The elements of a long queue leave in constant time each")
    func longQueue() {
        var queue = Queue(0..<1_000_000)
        var sum = 0
        while !queue.isEmpty { sum += queue.removeFirst() }
        #expect(sum == 499_999_500_000)
    }
}
