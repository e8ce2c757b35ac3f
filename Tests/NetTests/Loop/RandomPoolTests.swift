import TestRandom
import Testing

@testable import Net

@Suite("Random numbers for socket IDs") struct RandomPoolTests {
    @Test func neverRepeatAcrossRefills() {
        var pool = RandomPool()
        var other = RandomPool()
        var seen: Set<UInt64> = [0]
        // A repetition among so few 64-bit numbers is no coincidence.
        for _ in 0..<1_000 {
            #expect(seen.insert(pool.next()).inserted)
            #expect(seen.insert(other.next()).inserted)
        }
    }

    @Test("A repeatable source replaces the system's")
    func comeFromTheSourceThatIsGiven() {
        func numbers() -> [UInt64] {
            var random = SeededRandom(seed: 7)
            var pool = RandomPool(source: { random.next() })
            return (0..<100).map { _ in pool.next() }
        }
        #expect(numbers() == numbers())
        #expect(Set(numbers()).count == 100)
    }
}
