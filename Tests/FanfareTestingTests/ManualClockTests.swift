import FanfareTesting
import Testing

@Suite("A manual clock", .timeLimit(.minutes(1))) struct ManualClockTests {
    @Test func resumesSleepersAtTheirDeadlines() async throws {
        let clock = ManualClock()
        let sleepers = [3, 1, 2].map { seconds in
            Task { try await clock.sleep(for: .seconds(seconds)) }
        }
        for _ in sleepers { try await clock.waitForSleep() }
        #expect(clock.sleeperCount == 3)
        clock.advance(by: .seconds(1))
        #expect(clock.sleeperCount == 2)
        try await sleepers[1].value
        clock.advance(by: .milliseconds(999))
        #expect(clock.sleeperCount == 2)
        clock.advance(by: .seconds(5))
        for sleeper in sleepers { try await sleeper.value }
        #expect(clock.now.offset == .milliseconds(6_999))
        #expect(clock.sleeperCount == 0)
    }

    @Test func doesNotWaitForWhatHasPassed() async throws {
        let clock = ManualClock()
        clock.advance(by: .seconds(1))
        try await clock.sleep(until: clock.now)
        try await clock.sleep(for: .zero)
    }

    @Test func resumesACancelledSleeper() async throws {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        try await clock.waitForSleep(of: .seconds(1))
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(1))
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test func returnsEachSleepOnceAndTimesOut() async throws {
        let clock = ManualClock()
        let first = Task { try await clock.sleep(for: .seconds(1)) }
        #expect(try await clock.waitForSleep() == .seconds(1))
        let error = await #expect(throws: FanfareTestingError.self) {
            try await clock.waitForSleep(of: .seconds(1), within: .milliseconds(10))
        }
        #expect(error?.description.contains("to sleep for 1.0 seconds") == true)
        first.cancel()
    }
}
