import Net
import Testing

@testable import FanfareBench

@Suite("Schedule of a benchmark") struct ScheduleTests {
    private let start = MonotonicTime(nanoseconds: 1_000)

    private func schedule(_ pace: Pace) -> Schedule {
        Schedule(pace, messageCount: 100, subscriberCount: 10, start: start)
    }

    @Test func windowCountsDeliveries() {
        let schedule = schedule(.window(2))
        let now = MonotonicTime(nanoseconds: 5_000)
        #expect(schedule.step(sent: 0, missing: 0, now: now) == .send(due: now))
        #expect(schedule.step(sent: 2, missing: 19, now: now) == .send(due: now))
        #expect(schedule.step(sent: 2, missing: 20, now: now) == .waitForDeliveries)
        #expect(schedule.step(sent: 100, missing: 0, now: now) == .finished)
    }

    @Test func aRateKeepsItsDueTimes() {
        let schedule = schedule(.rate(20))
        let second = MonotonicTime(nanoseconds: 1_000 + 50_000_000)
        #expect(schedule.step(sent: 0, missing: 0, now: start) == .send(due: start))
        #expect(schedule.step(sent: 1, missing: 0, now: start) == .wait(until: second))
        #expect(schedule.step(sent: 1, missing: 999, now: second) == .send(due: second))
        // A second late: the due time stays the same.
        let late = second.advanced(by: .seconds(1))
        #expect(schedule.step(sent: 1, missing: 0, now: late) == .send(due: second))
        #expect(schedule.step(sent: 100, missing: 5, now: late) == .finished)
    }

    @Test func rateDoesNotDrift() {
        let schedule = schedule(.rate(3))
        let due = MonotonicTime(nanoseconds: 1_000 + 33_000_000_000)
        #expect(schedule.step(sent: 99, missing: 0, now: due) == .send(due: due))
    }

    @Test func aRunWithoutProgressIsStalled() {
        var detector = StallDetector(.seconds(10), since: start)
        func isStalled(_ progress: Int, after seconds: Int) -> Bool {
            detector.isStalled(progress: progress, at: start.advanced(by: .seconds(seconds)))
        }
        #expect(!isStalled(0, after: 9))
        #expect(!isStalled(0, after: 18))
        #expect(isStalled(0, after: 19))
        #expect(!isStalled(1, after: 20))
        detector.reset(at: start.advanced(by: .seconds(25)))
        #expect(!isStalled(1, after: 34))
        #expect(isStalled(1, after: 35))
    }
}
