import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import Testing

@testable import FanfareServer

/// Several, so that some homes are on another shard than the clients.
private let channels = ["a", "b", "c", "private-d"]

extension TestBroker {
    fileprivate func ask(_ method: String, _ path: String) async throws -> Answer {
        try await Wire(port: port).ask(
            SignedRequest(method: method, path: "/apps/1/channels/" + path)
        )
    }

    /// Purges a channel, and returns the position of the stream that begins.
    fileprivate func purge(_ channel: String) async throws -> ChannelPosition {
        struct Purged: Decodable {
            struct Position: Decodable {
                let stream: String
                let serial: UInt64
            }
            let position: Position
        }
        let answer = try await ask("DELETE", channel + "/history")
        #expect(answer.status == 200, "\(answer.body)")
        let position = try JSONDecoder().decode(Purged.self, from: Data(answer.body.utf8)).position
        return ChannelPosition(
            stream: try #require(StreamID(position.stream)),
            serial: position.serial
        )
    }
}

@Suite("The purge of a channel, DELETE /apps/{id}/channels/{name}/history") struct PurgeTests {
    private let gap = SubscriptionStart.Continuity.gap(RecoveryGap(.unknownStream))

    @Test("What was kept is gone, and another stream begins", arguments: [1, 3])
    func purges(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let first = try await TrackingWire(broker, channel)
                _ = try await broker.trigger("secret", "x", on: channel)
                _ = try await first.next()
                first.cut()
                let position = try await broker.purge(channel)
                #expect(position.serial == 0 && position.stream != first.position.stream)
                let history = try await broker.ask("GET", channel + "/history").body
                #expect(history.contains(#""messages":[]"#) && !history.contains("secret"))
                let second = try await TrackingWire(broker, channel, behind: first)
                #expect(second.start.continuity == gap && second.position == position)
                _ = try await broker.trigger("e", "1", on: channel)
                #expect(try await second.next() == "1")
            }
        }
    }

    @Test(
        "Who tracks the channel is acknowledged again, between the two streams",
        arguments: [1, 3]
    )
    func subscribers(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let tracking = [
                    try await TrackingWire(broker, channel),
                    try await TrackingWire(broker, channel),
                ]
                let (stock, _) = try await broker.subscribed(to: channel)
                _ = try await broker.trigger("e", "1", on: channel)
                let position = try await broker.purge(channel)
                _ = try await broker.trigger("e", "2", on: channel)
                for client in tracking {
                    #expect(try await client.next() == "1")
                    let start = try await client.restart()
                    #expect(start.continuity == gap && start.position == position)
                    let event = try await client.client.nextText()
                    #expect(event.hasSuffix(#""data":"2","serial":1}"#), "\(event)")
                }
                for data in ["1", "2"] {
                    #expect(try await stock.nextText().contains(#""data":"\#(data)","serial":1}"#))
                }
                try await stock.expectNothing()
            }
        }
    }

    @Test("Members come with the second acknowledgement of a presence channel")
    func presence() async throws {
        try await TestBroker.run { broker in
            let channel = "presence-a"
            let (client, socketID) = try await broker.connected()
            let user = #"{"user_id":"ann"}"#
            let message = subscribeMessage(to: channel, socketID: socketID, data: user)
            try client.send(message.dropLast(2) + #","position":{}}}"#)
            _ = try await client.nextText()
            _ = try await broker.purge(channel)
            let answer = try await client.nextText()
            #expect(answer.contains(#"\"presence\":{\"ids\":[\"ann\"]"#))
            #expect(answer.contains(#"\"reason\":\"unknown_stream\""#))
        }
    }

    @Test("The cached event goes too")
    func cacheChannels() async throws {
        try await TestBroker.run { broker in
            _ = try await broker.trigger("e", "1", on: "cache-a")
            _ = try await broker.purge("cache-a")
            let (client, _) = try await broker.subscribed(to: "cache-a")
            #expect(try await client.nextText().contains("pusher:cache_miss"))
            _ = try await broker.trigger("e", "2", on: "cache-a")
            #expect(try await client.nextText().contains(#""data":"2""#))
        }
    }

    @Test("A channel without stream gets one, and its number begins anew", arguments: [1, 3])
    func vacant(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let position = try await broker.purge(channel)
                _ = try await broker.trigger("e", "1", on: channel)
                let client = try await TrackingWire(broker, channel, position: position)
                #expect(client.start.continuity == .recovered(replay: 1))
                #expect(try await broker.purge(channel) != position)
            }
        }
    }

    @Test("A purge is signed, and of an app that keeps messages")
    func refusals() async throws {
        try await TestBroker.run { broker in
            var request = SignedRequest(method: "DELETE", path: "/apps/1/channels/a/history")
            request.secret = "wrong"
            #expect(try await Wire(port: broker.port).ask(request).status == 401)
            let put = try await broker.ask("PUT", "a/history")
            #expect(put.status == 405 && put.head.contains("Allow: GET, HEAD, DELETE"))
            #expect(try await broker.ask("DELETE", "a").status == 405)
            let name = try await broker.ask("DELETE", "a%20b/history")
            #expect(name.status == 400)
        }
        try await TestBroker.run {
            $0.apps[0].recovery.isEnabled = false
        } _: { broker in
            let answer = try await broker.ask("DELETE", "a/history")
            #expect(answer.status == 400 && answer.body.contains("recovery.enabled is false"))
        }
    }

    @Test("No event is lost or comes in the wrong stream while purges race", arguments: [1, 3])
    func races(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for channel in ["a", "b", "c"] {
                    let client = try await TrackingWire(broker, channel)
                    group.addTask {
                        for number in 1...120 {
                            _ = try await broker.trigger("e", "\(number)", on: channel)
                        }
                    }
                    group.addTask { for _ in 1...8 { _ = try await broker.purge(channel) } }
                    group.addTask {
                        var (serial, last, restarts) = (UInt64(0), 0, 0)
                        while last < 120 || restarts < 8 {
                            let text = try await client.client.nextText()
                            switch try ServerMessage.parse(Array(text.utf8).span) {
                            case .event(let event):
                                #expect(event.serial == serial + 1, "\(text)")
                                #expect(event.data == "\(last + 1)", "\(text)")
                                (serial, last) = (serial + 1, last + 1)
                            case .subscriptionSucceeded:
                                (serial, restarts) = (0, restarts + 1)
                            default: Issue.record("\(text)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
