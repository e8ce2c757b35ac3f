import Testing
import TestRandom

@testable import Net

@Suite("Timer wheel") struct TimerWheelTests {
    @Test func firesAtItsTickAndNotBefore() {
        for delay: UInt64 in [1, 2, 63, 64, 65, 4095, 4096, 4097, 262_144, 1 << 30, (1 << 36) - 1] {
            var wheel = TimerWheel<String>(now: 0)
            _ = wheel.schedule(at: delay, "a")
            #expect(wheel.takeDue(at: delay - 1) == nil)
            #expect(wheel.nextTick == delay)
            #expect(wheel.takeDue(at: delay) == "a")
            #expect(wheel.takeDue(at: delay + 1) == nil)
            #expect(wheel.nextTick == nil)
        }
    }

    @Test(
        "A deadline near or beyond the wheel's reach fires at its tick, wherever the wheel stands",
        .timeLimit(.minutes(1)),
        arguments: [0, 1, 63, 1 << 30, 3 << 30 + 5, (1 << 36) - 1, 1 << 36, 1 << 40 + 12_345]
            as [UInt64]
    )
    func reachesAnyDeadline(now: UInt64) {
        let delays: [UInt64] = [
            (1 << 36) - (1 << 30), (1 << 36) - 1, 1 << 36, (1 << 36) + 1, 1 << 38, 1 << 43,
        ]
        for delay in delays {
            var wheel = TimerWheel<UInt64>(now: now)
            _ = wheel.schedule(at: now + delay, delay)
            #expect(wheel.takeDue(at: now) == nil)
            #expect(wheel.takeDue(at: now + delay - 1) == nil)
            #expect(wheel.nextTick == now + delay)
            #expect(wheel.takeDue(at: now + delay) == delay)
            #expect(wheel.count == 0)
        }
    }

    @Test func roundsAPastDeadlineToTheNextTick() {
        var wheel = TimerWheel<Int>(now: 500)
        _ = wheel.schedule(at: 3, 1)
        #expect(wheel.takeDue(at: 500) == nil)
        #expect(wheel.takeDue(at: 501) == 1)
    }

    @Test func cancelsOnceAndNeverASuccessor() {
        var wheel = TimerWheel<Int>()
        let first = wheel.schedule(at: 10, 1)
        #expect(wheel.cancel(first) == 1)
        #expect(wheel.cancel(first) == nil)
        let second = wheel.schedule(at: 10, 2)
        #expect(wheel.cancel(first) == nil)
        #expect(wheel.takeDue(at: 10) == 2)
        #expect(wheel.cancel(second) == nil)
        #expect(wheel.count == 0)
    }

    @Test func cancelsATimerThatIsDue() throws {
        var wheel = TimerWheel<Int>()
        let ids = (0..<3).map { wheel.schedule(at: 5, $0) }
        let taken = wheel.takeDue(at: 9)
        let first = try #require(taken)
        let rest = [0, 1, 2].filter { $0 != first }
        #expect(wheel.cancel(ids[rest[0]]) == rest[0])
        #expect(wheel.takeDue(at: 9) == rest[1])
        #expect(wheel.takeDue(at: 9) == nil)
    }

    /// The naive twin: a list of deadlines with linear search.
    struct NaiveTimers {
        var deadlines: [Int: UInt64] = [:]
        mutating func takeDue(at tick: UInt64) -> [Int] {
            let due = deadlines.filter { $0.value <= tick }.sorted { $0.value < $1.value }
            for (name, _) in due { deadlines[name] = nil }
            return due.map { $0.key }
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func agreesWithItsNaiveTwin(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var (wheel, naive) = (TimerWheel<Int>(), NaiveTimers())
        var ids: [Int: TimerID] = [:]
        var now: UInt64 = 0
        for name in 0..<4_000 {
            switch random.next(below: 10) {
            case 0..<5:
                let delay = 1 + random.next(below: 1 << random.next(below: 25))
                ids[name] = wheel.schedule(at: now + delay, name)
                naive.deadlines[name] = now + delay
            case 5..<7:
                guard let (other, id) = ids.min(by: { $0.key < $1.key }) else { continue }
                ids[other] = nil
                let isThere = naive.deadlines.removeValue(forKey: other) != nil
                #expect((wheel.cancel(id) == other) == isThere)
            default:
                now += random.next(below: 1 << random.next(below: 22))
                let expected = naive.takeDue(at: now)
                var taken: [Int] = []
                while let due = wheel.takeDue(at: now) { taken.append(due) }
                #expect(taken.sorted() == expected.sorted())
            }
            #expect(wheel.count == naive.deadlines.count)
            if let earliest = naive.deadlines.values.min() {
                let tick = wheel.nextTick
                #expect(tick.map { $0 <= earliest && $0 >= now } == true)
            } else {
                #expect(wheel.nextTick == nil)
            }
        }
    }

    @Test(
        "The same around the wheel's reach, with the clock anywhere and in large steps",
        .timeLimit(.minutes(1)),
        arguments: 1...8 as ClosedRange<UInt64>
    )
    func agreesWithItsNaiveTwinAroundItsReach(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var now = random.next(below: 1 << random.next(below: 42))
        var (wheel, naive) = (TimerWheel<Int>(now: now), NaiveTimers())
        var ids: [Int: TimerID] = [:]
        for name in 0..<2_000 {
            switch random.next(below: 10) {
            case 0..<5:
                // Half of them within a slot of the uppermost level around the wheel's range.
                let near = (1 << 36) - (1 << 31) + random.next(below: 1 << 32)
                let any = 1 + random.next(below: 1 << random.next(below: 40))
                let deadline = now + (random.next(below: 2) == 0 ? near : any)
                ids[name] = wheel.schedule(at: deadline, name)
                naive.deadlines[name] = deadline
            case 5..<7:
                guard let (other, id) = ids.min(by: { $0.key < $1.key }) else { continue }
                ids[other] = nil
                let isThere = naive.deadlines.removeValue(forKey: other) != nil
                #expect((wheel.cancel(id) == other) == isThere)
            default:
                now += random.next(below: 1 << random.next(below: 38))
                let expected = naive.takeDue(at: now)
                var taken: [Int] = []
                while let due = wheel.takeDue(at: now) { taken.append(due) }
                #expect(taken.sorted() == expected.sorted())
            }
            #expect(wheel.count == naive.deadlines.count)
            let earliest = naive.deadlines.values.min()
            #expect((wheel.nextTick == nil) == (earliest == nil))
            if let earliest, let tick = wheel.nextTick {
                #expect(tick >= now && tick <= earliest)
            }
        }
    }

    @Test func takesTimersInTheOrderOfTheirTicks() {
        var random = SeededRandom(seed: 9)
        var wheel = TimerWheel<UInt64>()
        for _ in 0..<1_000 {
            let deadline = 1 + random.next(below: 100_000)
            _ = wheel.schedule(at: deadline, deadline)
        }
        var last: UInt64 = 0
        while let deadline = wheel.takeDue(at: 100_000) {
            #expect(deadline >= last)
            last = deadline
        }
        #expect(wheel.count == 0)
    }

    @Test func reusesEntries() {
        var wheel = TimerWheel<Int>()
        var ids = (0..<100).map { wheel.schedule(at: UInt64(1_000 + $0), $0) }
        for round in 0..<10_000 {
            wheel.cancel(ids[round % 100])
            ids[round % 100] = wheel.schedule(at: UInt64(1_000 + round), round)
        }
        #expect(ids.allSatisfy { $0.index < 100 })
        #expect(wheel.count == 100)
    }
}
