import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

/// One channel of each kind; some have their home on another shard than their subscriber.
private let channels = [
    "cache-a", "private-cache-b", "private-encrypted-cache-c", "presence-cache-d", "cache-e",
]

private func miss(_ channel: String) -> String {
    #"{"event":"pusher:cache_miss","channel":"\#(channel)","data":"{}"}"#
}

@Suite("Cache channels, Pusher protocol §12") struct CacheChannelTests {
    @Test("A subscriber of an empty cache channel gets pusher:cache_miss", arguments: [1, 3])
    func misses(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                // Each subscriber does, not only the first.
                for _ in 0..<2 {
                    let (client, _) = try await broker.subscribed(to: channel)
                    #expect(try await client.nextText() == miss(channel))
                    try await client.expectNothing()
                }
            }
        }
    }

    @Test("A later subscriber gets the last event as a new event", arguments: [1, 3])
    func delivers(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                // There is no subscriber yet.
                _ = try await broker.trigger("first", "1", on: channel)
                _ = try await broker.trigger("second", "2", on: channel)
                for _ in 0..<2 {
                    let (client, _) = try await broker.subscribed(to: channel)
                    #expect(
                        try await client.nextText() == eventText("second", channel, data: "2")
                    )
                    try await client.expectNothing()
                }
            }
        }
    }

    @Test("The event stays cached after the last subscriber has left", arguments: [1, 3])
    func outlivesItsSubscribers(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let (client, _) = try await broker.subscribed(to: channel)
                #expect(try await client.nextText() == miss(channel))
                _ = try await broker.trigger("e", "1", on: channel)
                #expect(try await client.nextText() == eventText("e", channel, data: "1"))
                try client.unsubscribe(from: channel)
                try await eventually {
                    try await broker.count("subscription_count", of: channel) == 0
                }
                let (late, _) = try await broker.subscribed(to: channel)
                #expect(try await late.nextText() == eventText("e", channel, data: "1"))
            }
        }
    }

    @Test("An event that excludes a connection is cached", arguments: [1, 3])
    func keepsWhatExcludesOne(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (client, socketID) = try await broker.subscribed(to: "cache-a")
            #expect(try await client.nextText() == miss("cache-a"))
            let body =
                #"{"name":"e","channels":["cache-a"],"data":"1","socket_id":"\#(socketID)"}"#
            _ = try await Wire(port: broker.port)
                .ask(SignedRequest(path: "/apps/1/events", body: body))
            let (late, _) = try await broker.subscribed(to: "cache-a")
            #expect(try await late.nextText() == eventText("e", "cache-a", data: "1"))
            try await client.expectNothing()
        }
    }

    @Test("A client event is not cached", arguments: [1, 3])
    func forgetsClientEvents(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let channel = "private-cache-b"
            let (sender, _) = try await broker.subscribed(to: channel)
            let (other, _) = try await broker.subscribed(to: channel)
            for client in [sender, other] { #expect(try await client.nextText() == miss(channel)) }
            try sender.publish("client-e", channel, json: "1")
            #expect(try await other.nextText() == eventText("client-e", channel, data: "1"))
            #expect(try await broker.subscribed(to: channel).0.nextText() == miss(channel))
            _ = try await broker.trigger("e", "2", on: channel)
            #expect(try await other.nextText() == eventText("e", channel, data: "2"))
            try sender.publish("client-e", channel, json: "3")
            #expect(try await other.nextText() == eventText("client-e", channel, data: "3"))
            let (late, _) = try await broker.subscribed(to: channel)
            #expect(try await late.nextText() == eventText("e", channel, data: "2"))
        }
    }

    @Test("An expired event is a miss")
    func expires() async throws {
        try await TestBroker.run {
            $0.apps[0].features.cacheLifetime = 1
        } _: { broker in
            let (early, _) = try await broker.subscribed(to: "cache-a")
            #expect(try await early.nextText() == miss("cache-a"))
            _ = try await broker.trigger("e", "1", on: "cache-a")
            #expect(try await early.nextText() == eventText("e", "cache-a", data: "1"))
            try await eventually {
                let (late, _) = try await broker.subscribed(to: "cache-a")
                return try await late.nextText() == miss("cache-a")
            }
            #expect(
                try await broker.ask("cache", of: "cache-a") == #"{"occupied":true,"cache":null}"#
            )
        }
    }

    @Test("Above cached_events_max the oldest event is dropped")
    func limit() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.cachedEventsMax = 2
        } _: { broker in
            for channel in ["cache-a", "cache-b", "cache-c"] {
                _ = try await broker.trigger("e", "1", on: channel)
            }
            let (client, _) = try await broker.subscribed(to: "cache-a")
            #expect(try await client.nextText() == miss("cache-a"))
            for channel in ["cache-b", "cache-c"] {
                let (client, _) = try await broker.subscribed(to: channel)
                #expect(try await client.nextText() == eventText("e", channel, data: "1"))
            }
        }
    }

    @Test(
        "The order is: acknowledgement, cached event, count, live events",
        arguments: [1, 3]
    )
    func order(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].features.subscriptionCount = true
        } _: { broker in
            for channel in channels where !channel.hasPrefix("presence-") {
                let (first, _) = try await broker.subscribed(to: channel)
                #expect(try await first.nextText() == miss(channel))
                #expect(try await first.nextText() == count(1, channel))
                _ = try await broker.trigger("old", "1", on: channel)
                let (second, _) = try await broker.subscribed(to: channel)
                _ = try await broker.trigger("new", "2", on: channel)
                #expect(try await second.nextText() == eventText("old", channel, data: "1"))
                #expect(try await second.nextText() == count(2, channel))
                #expect(try await second.nextText() == eventText("new", channel, data: "2"))
            }
        }
    }

    @Test(
        "Only the prefix of a name makes a cache channel",
        arguments: ["my-cache-x", "private-x-cache-y"]
    )
    func otherNames(channel: String) async throws {
        try await TestBroker.run { broker in
            _ = try await broker.trigger("e", "1", on: channel)
            try await broker.subscribed(to: channel).0.expectNothing()
        }
    }

    @Test("A query returns the cached event, of occupied and vacant channels", arguments: [1, 3])
    func answersBackends(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                #expect(
                    try await broker.ask("cache", of: channel)
                        == #"{"occupied":false,"cache":null}"#
                )
                _ = try await broker.trigger("e", #"{\"n\":1}"#, on: channel)
                let answer = try await broker.ask("cache,subscription_count", of: channel)
                let start =
                    #"{"occupied":false,"subscription_count":0,"cache":{"data":"{\"n\":1}","ttl":"#
                #expect(answer.hasPrefix(start), "\(answer)")
                let seconds = Int(answer.dropFirst(start.count).prefix { $0.isNumber }) ?? 0
                #expect((1_790...1_800).contains(seconds), "\(answer)")
            }
        }
    }

    @Test(
        "A query for the cache of another kind of channel is refused",
        arguments: ["chat", "presence-x"]
    )
    func refusesBackends(channel: String) async throws {
        try await TestBroker.run { broker in
            let answer = try await broker.ask("cache", of: channel, status: 400)
            #expect(answer == "Cannot retrieve the cache unless the channel is a cache channel\n")
        }
    }
}

/// The notice that a channel has `count` subscribers.
func count(_ count: Int, _ channel: String) -> String {
    #"{"event":"pusher_internal:subscription_count","channel":"\#(channel)","data":"{\"subscription_count\":\#(count)}"}"#
}

extension TestBroker {
    /// Queries attributes of a channel.
    func ask(_ attributes: String, of channel: String, status: Int = 200) async throws -> String {
        let answer = try await Wire(port: port)
            .ask(
                SignedRequest(
                    method: "GET",
                    path: "/apps/1/channels/\(channel)",
                    parameters: [("info", attributes)]
                )
            )
        #expect(answer.status == status)
        return answer.body
    }
}
