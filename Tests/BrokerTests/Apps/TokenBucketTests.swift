import Synchronization
import Testing

@testable import Broker

/// A bucket that an expectation may take from.
private final class Bucket {
    private var bucket = TokenBucket()
    private let rate: Rate

    init(_ rate: Rate) { self.rate = rate }

    func take(at now: Int64) -> Bool { bucket.take(at: now, rate) }
}

@Suite("Rates") struct TokenBucketTests {
    private let second: Int64 = 1_000_000_000

    @Test(
        "A full bucket gives as many tokens at once as come back in a second",
        arguments: [1, 3, 10, 1_000]
    )
    func burst(perSecond: Int) {
        for start: Int64 in [0, 5 * second, .max / 2] {
            let bucket = Bucket(Rate(perSecond: perSecond))
            for _ in 0..<perSecond { #expect(bucket.take(at: start)) }
            #expect(!bucket.take(at: start))
            // The refused one costs nothing: after a second the bucket is full again.
            for _ in 0..<perSecond { #expect(bucket.take(at: start + second)) }
            #expect(!bucket.take(at: start + second))
        }
    }

    @Test func tokensComeBackEvenly() {
        let bucket = Bucket(Rate(perSecond: 10))
        for _ in 0..<10 { #expect(bucket.take(at: 0)) }
        #expect(!bucket.take(at: second / 10 - 1))
        #expect(bucket.take(at: second / 10))
        #expect(!bucket.take(at: second / 10))
        #expect(bucket.take(at: second * 3 / 10))
        #expect(bucket.take(at: second * 3 / 10))
        #expect(!bucket.take(at: second * 3 / 10))
    }

    @Test func aBucketNeverHoldsMoreThanItsBurst() {
        let bucket = Bucket(Rate(perSecond: 2))
        #expect(bucket.take(at: 0))
        let later = 3_600 * second
        #expect(bucket.take(at: later))
        #expect(bucket.take(at: later))
        #expect(!bucket.take(at: later))
    }

    @Test func aClockThatIsATurnBehindCostsNothing() {
        let bucket = Bucket(Rate(perSecond: 1))
        #expect(bucket.take(at: second))
        #expect(!bucket.take(at: second - 1))
        #expect(bucket.take(at: 2 * second))
    }

    @Test("Over all loops no more is taken than the rate allows")
    func sharedBucket() async {
        let bucket = SharedTokenBucket(Rate(perSecond: 1_000))
        let second = second
        let taken = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    (0..<10_000).count { bucket.take(at: Int64($0) * second / 10_000) }
                }
            }
            return await group.reduce(0, +)
        }
        // A full bucket, and what came back in the second that passed.
        #expect((1_000...2_000).contains(taken))
        #expect(!bucket.take(at: 0))
    }
}
