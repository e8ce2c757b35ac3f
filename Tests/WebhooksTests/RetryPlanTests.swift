import TestRandom
import Testing

@testable import Webhooks

@Suite("The schedule of retries, Pusher: exponential backoff for five minutes")
struct RetryPlanTests {
    private let plan = RetryPlan(period: 300_000)

    private func delivery(attempts: Int, birth: Int64 = 0) -> Delivery {
        Delivery(
            id: 1,
            endpoint: EndpointKey(app: appID, url: "", ordinal: 0),
            time: 1_700_000_000_000,
            events: [],
            channels: [],
            birth: birth,
            attempts: attempts
        )
    }

    @Test func thePausesDoubleUpToAMinute() {
        #expect(
            (1...9).map(RetryPlan.pause) == [
                1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000,
            ]
        )
    }

    @Test(arguments: 1...9)
    func theJitterIsAFifth(attempts: Int) throws {
        var random = SeededRandom(seed: UInt64(attempts))
        let whole = RetryPlan.pause(after: attempts)
        var pauses: Set<Int64> = []
        for _ in 0..<1_000 {
            let pause = plan.pause(for: delivery(attempts: attempts), at: 0, random: &random)
            let length = try #require(pause)
            #expect(length >= whole * 4 / 5 && length <= whole * 6 / 5)
            pauses.insert(length)
        }
        #expect(pauses.count > 100)
    }

    @Test func nothingIsTriedWhenReceiversWouldRefuseIt() {
        var random = SeededRandom(seed: 1)
        let last = delivery(attempts: 1, birth: 1_000_000)
        #expect(plan.pause(for: last, at: 1_298_800, random: &random) != nil)
        #expect(plan.pause(for: last, at: 1_299_201, random: &random) == nil)
        #expect(!plan.isOver(since: 1_000_000, at: 1_300_000))
        #expect(plan.isOver(since: 1_000_000, at: 1_300_001))
    }

    @Test func allAttemptsLieWithinFiveMinutes() {
        for seed in 0..<100 {
            var random = SeededRandom(seed: UInt64(seed))
            var (now, attempts): (Int64, Int) = (0, 1)
            while let pause = plan.pause(
                for: delivery(attempts: attempts),
                at: now,
                random: &random
            ) {
                now += pause
                attempts += 1
            }
            #expect(now <= 300_000 && (9...12).contains(attempts), "seed \(seed)")
        }
    }
}
