import Testing

@testable import Net

@Suite("Coalescing delay of fan-out passes") struct FanOutCoalescingTests {
    private static let end = MonotonicTime(nanoseconds: 5_000_000_000)

    /// Returns the state after a pass of eight frames with this duration.
    private func coalescing(after length: Duration) -> FanOutCoalescing {
        var coalescing = FanOutCoalescing()
        coalescing.begin(frameCount: 8, at: Self.end.advanced(by: .zero - length))
        coalescing.end(at: Self.end)
        return coalescing
    }

    @Test(arguments: [
        (Duration.milliseconds(40), Duration.milliseconds(10)),
        (.milliseconds(2), .microseconds(500)),
    ])
    func delaysForAQuarterOfThePass(length: Duration, delay: Duration) {
        #expect(coalescing(after: length).delay(for: 7, at: Self.end) == delay)
        #expect(coalescing(after: length).delay(for: 1, at: Self.end) == delay)
    }

    @Test func framesSoonAfterThePassWaitForTheRest() {
        let coalescing = coalescing(after: .milliseconds(40))
        let soon = Self.end.advanced(by: .milliseconds(4))
        #expect(coalescing.delay(for: 1, at: soon) == .milliseconds(6))
        #expect(coalescing.delay(for: 1, at: Self.end.advanced(by: .milliseconds(10))) == nil)
        #expect(coalescing.delay(for: 1, at: Self.end.advanced(by: .seconds(10))) == nil)
    }

    @Test(arguments: [8, 100]) func doesNotDelayAFullBatch(waitingCount: Int) {
        #expect(coalescing(after: .milliseconds(40)).delay(for: waitingCount, at: Self.end) == nil)
    }

    @Test func doesNotDelayBeforeTheFirstLongPass() {
        #expect(FanOutCoalescing().delay(for: 1, at: Self.end) == nil)
    }

    @Test func knowsAFullBatch() {
        var coalescing = FanOutCoalescing()
        #expect(coalescing.isLargeEnough(1))
        coalescing.begin(frameCount: 3, at: .current)
        #expect(!coalescing.isLargeEnough(2))
        #expect(coalescing.isLargeEnough(3))
    }
}
