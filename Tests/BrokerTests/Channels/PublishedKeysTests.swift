import Glibc
import PusherProtocol
import Testing

@testable import Broker

@Suite("Idempotency keys") struct PublishedKeysTests {
    private let news: ChannelAddress
    private let sport: ChannelAddress

    init() throws {
        news = ChannelAddress(app: AppID("1"), name: try ChannelName("news"))
        sport = ChannelAddress(app: AppID("1"), name: try ChannelName("sport"))
    }

    private func check(
        _ keys: inout PublishedKeys,
        _ key: String,
        _ digest: UInt64 = 1,
        on address: ChannelAddress? = nil,
        at now: Int64 = 0,
        keysMax: Int = 10,
        position: ChannelPosition? = nil
    ) throws -> PublishedKeys.Verdict {
        let key = try #require(IdempotencyKey(key))
        let address = address ?? news
        let verdict = keys.check(key, digest: digest, on: address, at: now)
        guard verdict == .new else { return verdict }
        _ = keys.remember(
            key,
            digest: digest,
            on: address,
            position: position,
            at: now,
            age: 1_000,
            keysMax: keysMax
        )
        return verdict
    }

    @Test func areOfOneChannelAndOneEvent() throws {
        var keys = PublishedKeys()
        #expect(try check(&keys, "a") == .new)
        #expect(try check(&keys, "a") == .repeated(nil))
        #expect(try check(&keys, "a", 2) == .conflicting)
        #expect(try check(&keys, "a", on: sport) == .new)
        #expect(keys.count == 2)
    }

    @Test func expire() throws {
        var keys = PublishedKeys()
        #expect(try check(&keys, "a", at: 0) == .new)
        #expect(try check(&keys, "b", at: 500) == .new)
        #expect(try check(&keys, "a", at: 999) == .repeated(nil))
        #expect(try check(&keys, "a", at: 1_000) == .new)
        #expect(try check(&keys, "b", at: 1_499) == .repeated(nil))
        keys.expire(at: 5_000)
        #expect(keys.isEmpty)
    }

    /// A copy of the table takes a hundred times as long with a hundred times as many keys.
    @Test("Each event costs the same, however many keys are remembered")
    func expireOneByOne() throws {
        func time(with count: Int64) throws -> Int {
            var keys = PublishedKeys()
            for number in 0..<count {
                _ = try check(&keys, "\(number)", at: min(number, 500), keysMax: .max)
            }
            let start = Self.threadTime
            // Each of these expires one.
            for time in 1_000..<1_200 { _ = try check(&keys, "499", at: Int64(time)) }
            return Self.threadTime - start
        }
        let few = try time(with: 500)
        #expect(try time(with: 50_000) < 20 * few)
    }

    private static var threadTime: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    @Test func giveWayToNewerOnes() throws {
        var keys = PublishedKeys()
        for number in 0..<1_000 { #expect(try check(&keys, "\(number)") == .new) }
        #expect(keys.count == 10)
        #expect(try check(&keys, "999") == .repeated(nil))
        #expect(try check(&keys, "0") == .new)
        var none = PublishedKeys()
        for _ in 0..<2 { #expect(try check(&none, "a", keysMax: 0) == .new) }
    }

    @Test func haveThePositionOfTheirEvent() throws {
        var keys = PublishedKeys()
        let position = ChannelPosition(stream: StreamID(bits: 7), serial: 3)
        #expect(try check(&keys, "a", position: position) == .new)
        #expect(try check(&keys, "a") == .repeated(position))
        #expect(try check(&keys, "a", 2) == .conflicting)
    }

    @Test func areNotKnownBeforeTheirEventIsPublished() throws {
        var keys = PublishedKeys()
        let key = try #require(IdempotencyKey("a"))
        for _ in 0..<2 { #expect(keys.check(key, digest: 1, on: news, at: 0) == .new) }
        #expect(keys.isEmpty)
    }
}
