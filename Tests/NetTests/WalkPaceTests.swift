import Testing

@testable import Net

@Suite("The pace of a group's walks") struct WalkPaceTests {
    /// The pause after a walk of eight frames.
    private func pause(after milliseconds: Int64, before waitingCount: Int) -> Duration? {
        var pace = WalkPace()
        pace.begin(frameCount: 8, at: MonotonicTime(nanoseconds: 5_000_000_000))
        let end = MonotonicTime(nanoseconds: 5_000_000_000 + milliseconds * 1_000_000)
        return pace.pause(before: waitingCount, at: end)
    }

    @Test func pausesForAQuarterOfALongWalk() {
        #expect(pause(after: 40, before: 7) == .milliseconds(10))
        #expect(pause(after: 8, before: 1) == .milliseconds(2))
    }

    @Test func doesNotPauseForAFullBatchNorAfterAShortWalk() {
        #expect(pause(after: 40, before: 8) == nil)
        #expect(pause(after: 40, before: 100) == nil)
        #expect(pause(after: 7, before: 1) == nil)
    }

    @Test func knowsAFullBatch() {
        var pace = WalkPace()
        #expect(pace.isWorthWhile(1))
        pace.begin(frameCount: 3, at: .current)
        #expect(!pace.isWorthWhile(2))
        #expect(pace.isWorthWhile(3))
    }
}
