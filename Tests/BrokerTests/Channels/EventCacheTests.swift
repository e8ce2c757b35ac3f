import PusherProtocol
import Testing

@testable import Broker

private let app = AppID("1")

private func address(_ name: String, app: AppID = app) throws -> ChannelAddress {
    ChannelAddress(app: app, name: try ChannelName(name))
}

private func publication(_ data: String) throws -> Publication {
    let body = Array(#"{"name":"e","channel":"cache-any","data":"\#(data)"}"#.utf8)
    return try TriggerRequest.parse(body.span)
}

extension EventCache {
    fileprivate mutating func store(
        _ data: String,
        on channel: String,
        at now: Int64,
        lifetime: Int64 = 1_000,
        eventsMax: Int = 100,
        app: AppID = app
    ) throws {
        store(
            try publication(data),
            on: try address(channel, app: app),
            at: now,
            lifetime: lifetime,
            eventsMax: eventsMax
        )
    }

    fileprivate func data(on channel: String, at now: Int64) throws -> String? {
        event(on: try address(channel), at: now)?.publication.data
    }
}

@Suite("The last events of cache channels") struct EventCacheTests {
    @Test func theLastEventIsKeptUntilItsLifetimeIsOver() throws {
        var cache = EventCache()
        #expect(try cache.data(on: "cache-a", at: 0) == nil)
        try cache.store("1", on: "cache-a", at: 0)
        try cache.store("2", on: "cache-a", at: 500)
        #expect(try cache.data(on: "cache-a", at: 1_499) == "2")
        #expect(try cache.data(on: "cache-a", at: 1_500) == nil)
    }

    @Test func twoEventsOfOneMillisecondAreTwo() throws {
        var cache = EventCache()
        for data in ["1", "2", "3"] { try cache.store(data, on: "cache-a", at: 0, eventsMax: 1) }
        #expect(try cache.data(on: "cache-a", at: 0) == "3")
        #expect(cache.count == 1)
    }

    @Test func theOldestEventsOfTheAppAreEvicted() throws {
        var cache = EventCache()
        try cache.store("other", on: "cache-1", at: 0, eventsMax: 3, app: AppID("2"))
        for number in 1...5 {
            try cache.store(
                "\(number)",
                on: "cache-\(number)",
                at: Int64(number),
                eventsMax: 3
            )
        }
        let kept = try (1...5).map { try cache.data(on: "cache-\($0)", at: 6) }
        #expect(kept == [nil, nil, "3", "4", "5"])
        #expect(cache.event(on: try address("cache-1", app: AppID("2")), at: 6) != nil)
    }

    @Test func aBusyChannelEvictsNoOther() throws {
        var cache = EventCache()
        try cache.store("quiet", on: "cache-quiet", at: 0, lifetime: 10_000, eventsMax: 2)
        for number in 1...5_000 {
            try cache.store("\(number)", on: "cache-busy", at: Int64(number), eventsMax: 2)
        }
        #expect(try cache.data(on: "cache-quiet", at: 5_000) == "quiet")
        #expect(try cache.data(on: "cache-busy", at: 5_000) == "5000")
        #expect(cache.count == 2)
    }

    @Test func removesExpiredEvents() throws {
        var cache = EventCache()
        try cache.store("1", on: "cache-a", at: 0)
        try cache.store("2", on: "cache-b", at: 600)
        cache.expire(at: 1_000)
        #expect(cache.count == 1)
        #expect(try cache.data(on: "cache-b", at: 1_000) == "2")
        #expect(!cache.isEmpty)
        cache.expire(at: 1_600)
        #expect(cache.count == 0 && cache.isEmpty)
    }

    @Test(arguments: [(0, 100), (1_000, 0)])
    func aLimitOfZeroCachesNothing(lifetime: Int64, eventsMax: Int) throws {
        var cache = EventCache()
        try cache.store("1", on: "cache-a", at: 0, lifetime: lifetime, eventsMax: eventsMax)
        #expect(cache.count == 0)
    }

    @Test func aMissIsReportedOnceAMinuteOrAfterAnEvent() throws {
        var cache = EventCache()
        let channel = try address("cache-a")
        func miss(at now: Int64, missesMax: Int = 9) -> Bool {
            cache.recordMiss(on: channel, at: now, missesMax: missesMax)
        }
        #expect(miss(at: 0))
        #expect(!miss(at: 59_999))
        #expect(miss(at: 60_000))
        try cache.store("1", on: "cache-a", at: 60_001)
        #expect(miss(at: 62_000))
        cache.expire(at: 62_001)
        #expect(!cache.isEmpty, "a miss is remembered too")
        cache.expire(at: 130_000)
        #expect(cache.isEmpty)
        #expect(miss(at: 130_000, missesMax: 0))
        #expect(miss(at: 130_000, missesMax: 0))
    }
}
