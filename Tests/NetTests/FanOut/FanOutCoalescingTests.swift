import Testing

@testable import Net

@Suite("The pace of a group's walks") struct FanOutCoalescingTests {
    private static let end = MonotonicTime(nanoseconds: 5_000_000_000)

    /// After a walk of eight frames that took so long.
    private func pace(after length: Duration) -> FanOutCoalescing {
        var pace = FanOutCoalescing()
        pace.begin(frameCount: 8, at: Self.end.advanced(by: .zero - length))
        pace.end(at: Self.end)
        return pace
    }

    @Test(arguments: [
        (Duration.milliseconds(40), Duration.milliseconds(10)),
        (.milliseconds(2), .microseconds(500)),
    ])
    func isPatientForAQuarterOfTheWalk(length: Duration, patience: Duration) {
        #expect(pace(after: length).pause(before: 7, at: Self.end) == patience)
        #expect(pace(after: length).pause(before: 1, at: Self.end) == patience)
    }

    @Test func whatComesSoonAfterTheWalkWaitsForTheRest() {
        let pace = pace(after: .milliseconds(40))
        let soon = Self.end.advanced(by: .milliseconds(4))
        #expect(pace.pause(before: 1, at: soon) == .milliseconds(6))
        #expect(pace.pause(before: 1, at: Self.end.advanced(by: .milliseconds(10))) == nil)
        #expect(pace.pause(before: 1, at: Self.end.advanced(by: .seconds(10))) == nil)
    }

    @Test(arguments: [8, 100]) func doesNotPauseForAFullBatch(waitingCount: Int) {
        #expect(pace(after: .milliseconds(40)).pause(before: waitingCount, at: Self.end) == nil)
    }

    @Test func doesNotPauseBeforeTheFirstLongWalk() {
        #expect(FanOutCoalescing().pause(before: 1, at: Self.end) == nil)
    }

    @Test func knowsAFullBatch() {
        var pace = FanOutCoalescing()
        #expect(pace.isWorthWhile(1))
        pace.begin(frameCount: 3, at: .current)
        #expect(!pace.isWorthWhile(2))
        #expect(pace.isWorthWhile(3))
    }
}
