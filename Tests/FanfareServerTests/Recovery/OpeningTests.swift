import Broker
import BrokerConfiguration
import Foundation
import Net
import PusherProtocol
import Testing

@testable import FanfareServer

/// Several, so that some homes are on another shard than the clients.
private let channels = ["a", "b", "c", "private-d", "private-encrypted-e"]

/// The rule of all channels: earlier messages for new clients.
private func rule(count: Int? = nil, seconds: Int? = nil) -> RecoveryRuleConfiguration {
    var rule = RecoveryRuleConfiguration()
    rule.settings.keep = .always
    rule.opening = .replay
    rule.openingCount = count
    rule.openingSeconds = seconds
    return rule
}

/// The text of an event as the stream of its channel has it.
private func numbered(_ channel: String, _ serial: Int) -> String {
    eventText("e", channel, data: "\(serial)").dropLast() + #","serial":\#(serial)}"#
}

@Suite("Channels that open with earlier messages, opening: replay") struct OpeningTests {
    private func trigger(
        _ broker: TestBroker,
        _ channel: String,
        _ data: ClosedRange<Int>
    ) async throws {
        for data in data {
            #expect(try await broker.trigger("e", "\(data)", on: channel).status == 200)
        }
    }

    @Test("A stock client gets what came before it, then live events", arguments: [1, 3])
    func stockClients(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].recoveryRules = [rule()]
        } _: { broker in
            for channel in channels {
                try await trigger(broker, channel, 1...3)
                let (client, socketID) = try await broker.connected()
                try client.send(subscribeMessage(to: channel, socketID: socketID))
                let answer =
                    #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)","data":"{}"}"#
                #expect(try await client.nextText() == answer)
                try await trigger(broker, channel, 4...4)
                for serial in 1...4 {
                    #expect(try await client.nextText() == numbered(channel, serial))
                }
                try await client.expectNothing()
            }
        }
    }

    @Test("The last count, or those of the last seconds", arguments: [1, 3])
    func ranges(loops: Int) async throws {
        var recent = rule(seconds: 30)
        recent.settings.channelPrefix = "recent-"
        try await TestBroker.run(loops: loops) {
            $0.apps[0].recoveryRules = [recent, rule(count: 2)]
        } _: { broker in
            for (channel, first) in [("a", 4), ("b", 4), ("recent-a", 1), ("recent-b", 1)] {
                try await trigger(broker, channel, 1...5)
                let (client, _) = try await broker.subscribed(to: channel)
                for serial in first...5 {
                    #expect(try await client.nextText() == numbered(channel, serial))
                }
                try await client.expectNothing()
            }
        }
    }

    @Test("What excludes the connection that subscribes is left out", arguments: [1, 3])
    func exclusions(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].recoveryRules = [rule()]
        } _: { broker in
            for channel in channels {
                let (client, socketID) = try await broker.connected()
                for data in 1...3 {
                    let except = data == 2 ? #","socket_id":"\#(socketID)""# : ""
                    let body = #"{"name":"e","channel":"\#(channel)","data":"\#(data)"\#(except)}"#
                    let request = SignedRequest(path: "/apps/1/events", body: body)
                    #expect(try await Wire(port: broker.port).ask(request).status == 200)
                }
                try client.send(subscribeMessage(to: channel, socketID: socketID))
                _ = try await client.nextText()
                for serial in [1, 3] {
                    #expect(try await client.nextText() == numbered(channel, serial))
                }
                try await client.expectNothing()
            }
        }
    }

    @Test("A client that tracks gets the same as a rewind, and with a position resumes")
    func trackingClients() async throws {
        try await TestBroker.run {
            $0.apps[0].recoveryRules = [rule(count: 2)]
        } _: { broker in
            try await trigger(broker, "a", 1...3)
            let first = try await TrackingWire(broker, "a")
            #expect(first.start.continuity == .began && first.serial == 1)
            #expect(first.start.rewound == 2 && first.start.isRewindComplete == true)
            #expect(try await first.next(2) == ["2", "3"])
            first.cut()
            try await trigger(broker, "a", 4...7)
            let second = try await TrackingWire(broker, "a", behind: first)
            #expect(second.start.continuity == .recovered(replay: 4))
            #expect(try await second.next(4) == ["4", "5", "6", "7"])
        }
    }

    @Test("The limits of a replay apply: the newest messages come")
    func limits() async throws {
        try await TestBroker.run {
            $0.apps[0].recoveryRules = [rule()]
            $0.apps[0].recovery.replayMessagesMax = 2
        } _: { broker in
            try await trigger(broker, "a", 1...4)
            let tracking = try await TrackingWire(broker, "a")
            #expect(tracking.start.isRewindComplete == false && tracking.serial == 2)
            let (stock, _) = try await broker.subscribed(to: "a")
            for serial in 3...4 { #expect(try await stock.nextText() == numbered("a", serial)) }
        }
    }

    @Test("A replay takes at most a quarter of a send queue")
    func queues() async throws {
        try await TestBroker.run {
            $0.apps[0].recoveryRules = [rule()]
            $0.streamLimits.queuedBytesMax = 64 << 10
        } _: { broker in
            let data = String(repeating: "x", count: 3_000)
            for _ in 1...8 { _ = try await broker.trigger("e", data, on: "a") }
            let tracking = try await TrackingWire(broker, "a")
            #expect(tracking.start.isRewindComplete == false && tracking.serial == 3)
            let start = ChannelPosition(stream: tracking.position.stream, serial: 2)
            let behind = try await TrackingWire(broker, "a", position: start)
            #expect(behind.start.continuity == .gap(RecoveryGap(.tooMuch, missed: 6)))
        }
    }

    @Test("On a cache channel the cached event comes once", arguments: [1, 3])
    func cacheChannels(loops: Int) async throws {
        var last = rule(count: 1)
        last.settings.channelPrefix = "private-cache-"
        try await TestBroker.run(loops: loops) {
            $0.apps[0].features.clientEvents = true
            $0.apps[0].recoveryRules = [last, rule()]
        } _: { broker in
            let (early, _) = try await broker.subscribed(to: "cache-a")
            #expect(try await early.nextText().contains("pusher:cache_miss"))
            try await trigger(broker, "cache-a", 1...2)
            let (client, _) = try await broker.subscribed(to: "cache-a")
            for serial in 1...2 {
                #expect(try await client.nextText() == numbered("cache-a", serial))
            }
            try await client.expectNothing()
            // The cached event is older than what the opening contains.
            let channel = "private-cache-b"
            let (sender, _) = try await broker.subscribed(to: channel)
            _ = try await sender.nextText()
            try await trigger(broker, channel, 1...1)
            #expect(try await sender.nextText() == numbered(channel, 1))
            try sender.send(#"{"event":"client-e","channel":"\#(channel)","data":"x"}"#)
            var reader = try await broker.subscribed(to: channel).0
            try await eventually {
                if try await reader.nextText() == eventText("e", channel, data: "1") { return true }
                // The client event came after the subscription.
                reader = try await broker.subscribed(to: channel).0
                return false
            }
            #expect(try await reader.nextText().contains(#""event":"client-e""#))
        }
    }

    @Test("Members come with the acknowledgement, earlier events behind it")
    func presence() async throws {
        try await TestBroker.run {
            $0.apps[0].recoveryRules = [rule()]
        } _: { broker in
            try await trigger(broker, "presence-a", 1...2)
            let (client, _) = try await broker.subscribed(to: "presence-a")
            for serial in 1...2 {
                #expect(try await client.nextText() == numbered("presence-a", serial))
            }
        }
    }

    @Test("A reload changes what channels keep, and what new clients get")
    func reload() async throws {
        try await TestBroker.run { broker in
            let first = try await TrackingWire(broker, "a")
            try await trigger(broker, "a", 1...2)
            _ = try await first.next(2)
            var configuration = Configuration.development
            configuration.apps[0].recoveryRules = [rule(count: 1)]
            try await broker.server.reload(configuration)
            let (client, _) = try await broker.subscribed(to: "a")
            #expect(try await client.nextText() == numbered("a", 2))
        }
    }

    @Test("A page that triggers and then subscribes misses nothing", arguments: [1, 3])
    func races(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].recoveryRules = [rule()]
        } _: { broker in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for page in 0..<4 {
                    group.addTask {
                        for round in 0..<60 {
                            let channel = "job-\(page)-\(round)"
                            let (client, _) = try await broker.connected()
                            // The second event comes at any time about the subscription.
                            #expect(try await broker.trigger("e", "1", on: channel).status == 200)
                            async let second = broker.trigger("e", "2", on: channel).status
                            try await client.subscribe(to: channel)
                            for serial in 1...2 {
                                #expect(try await client.nextText() == numbered(channel, serial))
                            }
                            #expect(try await second == 200)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
