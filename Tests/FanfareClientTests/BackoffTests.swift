import Testing
import TestRandom

@testable import FanfareClient

@Suite("Backoff") struct BackoffTests {
    @Test func staysBetweenFloorAndWindowAndCap() {
        let backoff = Backoff(floor: .seconds(1), window: .seconds(2), cap: .seconds(20))
        var generator = SeededRandom(seed: 7)
        for failures in [0, 1, 2, 3, 4, 5, 16, 17, 1000, .max] {
            let widest = min(
                Duration.seconds(1) + .seconds(2) * (1 << min(failures, 16)),
                .seconds(20)
            )
            var longest = Duration.zero
            for _ in 0..<500 {
                let delay = backoff.delay(failures: failures, using: &generator)
                #expect(delay >= .seconds(1) && delay <= widest)
                longest = max(longest, delay)
            }
            // The whole window is used.
            #expect(longest > .seconds(1) + (widest - .seconds(1)) * 0.9)
        }
    }

    @Test func mayBeNothing() {
        let backoff = Backoff(floor: .zero, window: .zero, cap: .zero)
        var generator = SeededRandom(seed: 7)
        #expect(backoff.delay(failures: 5, using: &generator) == .zero)
    }
}
