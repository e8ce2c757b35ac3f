import Synchronization
import Testing

@testable import Broker

/// A bucket as a class, because `#expect` takes no mutating calls.
private final class Bucket {
    private var bucket = TokenBucket()
    private let rate: Rate

    init(_ rate: Rate) { self.rate = rate }

    func take(at now: Int64) -> Bool { bucket.take(at: now, rate) }
}

@Suite("Rates") struct TokenBucketTests {
    private let second: Int64 = 1_000_000_000

    @Test(
        "A full bucket holds as many tokens as are added per second",
        arguments: [1, 3, 10, 1_000]
    )
    func burst(perSecond: Int) {
        for start: Int64 in [0, 5 * second, .max / 2] {
            let bucket = Bucket(Rate(perSecond: perSecond))
            for _ in 0..<perSecond { #expect(bucket.take(at: start)) }
            #expect(!bucket.take(at: start))
            // The refused one consumes nothing: after a second the bucket is full again.
            for _ in 0..<perSecond { #expect(bucket.take(at: start + second)) }
            #expect(!bucket.take(at: start + second))
        }
    }

    @Test func tokensAreAddedEvenly() {
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

    @Test func aClockOneTurnBehindConsumesNothing() {
        let bucket = Bucket(Rate(perSecond: 1))
        #expect(bucket.take(at: second))
        #expect(!bucket.take(at: second - 1))
        #expect(bucket.take(at: 2 * second))
    }

    @Test("All loops together keep the rate")
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
        // A full bucket, and the tokens added within the second.
        #expect((1_000...2_000).contains(taken))
        #expect(!bucket.take(at: 0))
    }
}
