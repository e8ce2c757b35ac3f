import Testing

@testable import Net

@Suite("Timer clock") struct TimerClockTests {
    private static let second: Int64 = 1_000_000_000

    @Test("A poll that is on time, or a little late, is not a pause")
    func isNoPause() {
        var clock = TimerClock(tolerance: .milliseconds(200))
        clock.waitEnded(after: 10 * Self.second, timeout: 10_000, pollCountMax: 3)
        clock.waitEnded(after: 199_999_999, timeout: 0, pollCountMax: 3)
        // Nothing was due.
        clock.waitEnded(after: 1_000 * Self.second, timeout: -1, pollCountMax: 3)
        #expect(clock.pausedTime == 0)
        #expect(clock.mayFire)
    }

    @Test("A late poll advances timers by its wait and the tolerance")
    func leavesOutAPause() {
        var clock = TimerClock(tolerance: .milliseconds(200))
        clock.waitEnded(after: 60 * Self.second, timeout: 1_000, pollCountMax: 1)
        #expect(clock.pausedTime == 58_800_000_000)
        clock.waitEnded(after: 2 * Self.second, timeout: 0, pollCountMax: 1)
        #expect(clock.pausedTime == 60_600_000_000)
    }

    @Test("After a pause timers wait for a poll that returned all events")
    func waitsForEvents() {
        var clock = TimerClock(tolerance: .milliseconds(200))
        clock.waitEnded(after: 60 * Self.second, timeout: 0, pollCountMax: 5)
        #expect(!clock.mayFire)
        clock.eventsHandled(hasMore: true)
        #expect(!clock.mayFire)
        clock.eventsHandled(hasMore: false)
        #expect(clock.mayFire)
    }

    @Test("Timers fire even if a busy loop is always late")
    func doesNotWaitForEver() {
        var clock = TimerClock(tolerance: .milliseconds(200))
        var firedCount = 0
        for _ in 0..<30 {
            clock.waitEnded(after: Self.second, timeout: 0, pollCountMax: 3)
            clock.eventsHandled(hasMore: true)
            if clock.mayFire { firedCount += 1 }
        }
        #expect(firedCount == 10)
        // Thirty seconds, of which each poll counted as 0.2.
        #expect(clock.pausedTime == 24 * Self.second)
    }

    @Test("A clock that is moved in steps has no pauses")
    func hasNoPauses() {
        var clock = TimerClock(tolerance: nil)
        clock.waitEnded(after: 60 * Self.second, timeout: 0, pollCountMax: 5)
        #expect(clock.pausedTime == 0 && clock.mayFire)
    }
}
