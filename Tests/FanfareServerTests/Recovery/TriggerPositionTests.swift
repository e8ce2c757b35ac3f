import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import Testing

@testable import FanfareServer

/// Several, so that some homes are on another shard than the one that has received the trigger.
private let channels = ["a", "b", "c", "d"]

private struct Answered: Decodable {
    struct Channel: Decodable {
        let position: WirePosition?
        let subscription_count: Int?
    }

    let channels: [String: Channel]?
    let batch: [Channel]?
    let repeated: Bool?
}

struct WirePosition: Decodable, Equatable {
    let stream: String
    let serial: Int

    var json: String { #"{"stream":"\#(stream)","serial":\#(serial)}"# }
    var header: String { "Fanfare-Position: \(stream) \(serial)\r\n" }
}

extension TestBroker {
    /// Triggers an event with further members.
    func trigger(
        _ channel: String,
        _ data: String,
        _ members: String
    ) async throws -> Answer {
        let body = #"{"name":"e","channel":"\#(channel)","data":"\#(data)",\#(members)}"#
        return try await post("events", body)
    }

    func trigger(_ channel: String, _ members: String) async throws -> Answer {
        try await trigger(channel, "1", members)
    }

    func post(_ path: String, _ body: String) async throws -> Answer {
        try await Wire(port: port).ask(SignedRequest(path: "/apps/1/" + path, body: body))
    }

    /// The position of a channel, whose stream begins here if it has none.
    func position(_ channel: String) async throws -> WirePosition {
        struct Described: Decodable { let position: WirePosition }
        let answer = try await Wire(port: port).ask(
            SignedRequest(
                method: "GET",
                path: "/apps/1/channels/" + channel,
                parameters: [("info", "position")]
            )
        )
        return try JSONDecoder().decode(Described.self, from: Data(answer.body.utf8)).position
    }
}

extension Answer {
    fileprivate func answered() throws -> Answered {
        #expect(status == 200, "\(body)")
        return try JSONDecoder().decode(Answered.self, from: Data(body.utf8))
    }
}

@Suite("The position of a triggered event") struct TriggerPositionTests {
    @Test("Each channel has the serial of this event, which begins a stream", arguments: [1, 3])
    func positions(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let names = channels.map { "\"\($0)\"" }.joined(separator: ",")
            var streams: [String: String] = [:]
            for serial in 1...3 {
                let body =
                    #"{"name":"e","channels":[\#(names)],"data":"\#(serial)","info":"position"}"#
                let answer = try await broker.post("events", body).answered()
                #expect(answer.repeated == nil && answer.channels?.count == channels.count)
                for channel in channels {
                    let position = try #require(answer.channels?[channel]?.position)
                    #expect(position.serial == serial)
                    #expect(streams[channel] ?? position.stream == position.stream)
                    streams[channel] = position.stream
                }
            }
            for channel in channels {
                let stream = try #require(StreamID(streams[channel] ?? ""))
                let start = ChannelPosition(stream: stream, serial: 1)
                let client = try await TrackingWire(broker, channel, position: start)
                #expect(try await client.next(2) == ["2", "3"])
            }
        }
    }

    @Test("Counts come beside it", arguments: [1, 3])
    func counts(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: channel)
                let members = #""info":"subscription_count,position""#
                let answer = try await broker.trigger(channel, members).answered()
                #expect(answer.channels?[channel]?.position?.serial == 1)
                #expect(answer.channels?[channel]?.subscription_count == 1)
            }
        }
    }

    @Test("Each event of a batch has its own, also on one channel", arguments: [1, 3])
    func batches(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            func event(_ channel: String, _ members: String = #","info":"position""#) -> String {
                #"{"name":"e","channel":"\#(channel)","data":"1"\#(members)}"#
            }
            _ = try await broker.position("b")
            let events = [event("a"), event("b", ""), event("a"), event("b"), event("a", "")]
            let body = #"{"batch":[\#(events.joined(separator: ","))]}"#
            let answer = try await broker.post("batch_events", body).answered()
            #expect(answer.batch?.map { $0.position?.serial } == [1, nil, 2, 2, nil])
            #expect(answer.repeated == nil)
        }
    }

    @Test("A repeat under its key has the position of the first", arguments: [1, 3])
    func repeats(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let key = #""info":"position","idempotency_key":"k""#
                let first = try await broker.trigger(channel, key).answered()
                #expect(first.repeated == nil)
                let position = try #require(first.channels?[channel]?.position)
                _ = try await broker.trigger(channel, "2", #""info":"position""#)
                let again = try await broker.trigger(channel, key).answered()
                #expect(again.repeated == true)
                #expect(again.channels?[channel]?.position == position && position.serial == 1)
                #expect(try await broker.position(channel).serial == 2)
            }
            let event = #"{"name":"e","channel":"a","data":"3","idempotency_key":"b"}"#
            for body in ["{}", #"{"repeated":true}"#] {
                let answer = try await broker.post("batch_events", #"{"batch":[\#(event)]}"#)
                #expect(answer.body == body)
            }
        }
    }

    @Test("Without recovery there is none")
    func disabled() async throws {
        try await TestBroker.run {
            $0.apps[0].recovery.isEnabled = false
        } _: { broker in
            let answer = try await broker.trigger("a", #""info":"position""#)
            #expect(answer.body == #"{"channels":{"a":{"position":null}}}"#)
            let condition = #""if_position":{"stream":"s","serial":0}"#
            let refusal = try await broker.trigger("a", condition)
            #expect(refusal.status == 400 && refusal.body.contains("recovery.enabled is false"))
        }
    }
}

@Suite("Triggers on the condition of a position") struct ConditionalTriggerTests {
    @Test(
        "An event is published at this position alone, otherwise told the last",
        arguments: [1, 3]
    )
    func conditions(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let reader = try await TrackingWire(broker, channel)
                let start = try await broker.position(channel)
                let condition = #""if_position":\#(start.json)"#
                #expect(try await broker.trigger(channel, "1", condition).body == "{}")
                let last = WirePosition(stream: start.stream, serial: 1)
                for stale in [start.json, #"{"stream":"other","serial":1}"#] {
                    let refusal = try await broker.trigger(
                        channel,
                        "2",
                        #""if_position":\#(stale)"#
                    )
                    #expect(refusal.status == 412)
                    #expect(refusal.head.contains(last.header), "\(refusal.head)")
                    for part in ["not published", "\(last.stream) 1", "trigger again"] {
                        #expect(refusal.body.contains(part))
                    }
                }
                let next = #""info":"position","if_position":\#(last.json)"#
                let answer = try await broker.trigger(channel, "3", next).answered()
                #expect(answer.channels?[channel]?.position?.serial == 2)
                #expect(try await reader.next(2) == ["1", "3"])
                try await reader.client.expectNothing()
            }
        }
    }

    @Test(
        "A refused event leaves no key behind, and a published one is repeated",
        arguments: [1, 3]
    )
    func keys(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let start = try await broker.position(channel)
                let key = #","idempotency_key":"k""#
                let stale = #""if_position":{"stream":"other","serial":0}"# + key
                #expect(try await broker.trigger(channel, stale).status == 412)
                let condition = #""if_position":\#(start.json)"# + key
                #expect(try await broker.trigger(channel, condition).body == "{}")
                #expect(try await broker.trigger(channel, condition).body == #"{"repeated":true}"#)
                #expect(try await broker.position(channel).serial == 1)
            }
        }
    }

    @Test("Of concurrent writers exactly one wins each position", arguments: [1, 3])
    func races(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (rounds, writers) = (25, 4)
            for channel in ["a", "b", "c"] {
                for round in 0..<rounds {
                    let start = try await broker.position(channel)
                    #expect(start.serial == round)
                    let condition = #""if_position":\#(start.json)"#
                    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                        for writer in 0..<writers {
                            group.addTask {
                                try await broker.trigger(channel, "\(writer)", condition).status
                            }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                    #expect(statuses.sorted() == [200, 412, 412, 412])
                }
            }
        }
    }

    @Test("A condition is of one channel and one event")
    func refusals() async throws {
        try await TestBroker.run { broker in
            let condition = #""if_position":{"stream":"s","serial":0}"#
            for (members, text) in [
                (#""channels":["a","b"],\#(condition)"#, "if_position needs a single channel"),
                (#""if_position":{"stream":"s"}"#, "if_position must be an object"),
                (#""if_position":"s 0""#, "if_position must be an object"),
                (#""ephemeral":true,\#(condition)"#, "leave out if_position"),
                (#""ephemeral":true,"info":"position""#, "leave out info=position"),
                (#""ephemeral":1"#, "ephemeral must be true or false"),
            ] {
                let refusal = try await broker.trigger("a", members)
                #expect(refusal.status == 400 && refusal.body.contains(text), "\(refusal.body)")
            }
            let event = #"{"name":"e","channel":"a","data":"1",\#(condition)}"#
            let batch = #"{"batch":[\#(event),{"name":"e","channel":"b","data":"1"}]}"#
            let refusal = try await broker.post("batch_events", batch)
            #expect(refusal.status == 400 && refusal.body.contains("batch of a single event"))
            let alone = try await broker.post("batch_events", #"{"batch":[\#(event)]}"#)
            #expect(alone.status == 412 && alone.head.contains("Fanfare-Position: "))
        }
    }
}

@Suite("Ephemeral events") struct EphemeralTests {
    @Test("An ephemeral event has no number, and is not kept", arguments: [1, 3])
    func ephemeral(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for channel in channels {
                let (stock, _) = try await broker.subscribed(to: channel)
                let tracking = try await TrackingWire(broker, channel)
                let text = eventText("e", channel, data: "1")
                #expect(try await broker.trigger(channel, #""ephemeral":true"#).body == "{}")
                for client in [stock, tracking.client] {
                    #expect(try await client.nextText() == text)
                }
                #expect(try await broker.trigger(channel, "2", #""ephemeral":false"#).body == "{}")
                #expect(try await tracking.next() == "2")
                #expect(tracking.serial == 1)
                let start = ChannelPosition(stream: tracking.position.stream, serial: 0)
                let later = try await TrackingWire(broker, channel, position: start)
                #expect(try await later.next() == "2")
                try await later.client.expectNothing()
            }
        }
    }

    @Test("An ephemeral event is not cached, and its key holds")
    func cacheChannels() async throws {
        try await TestBroker.run { broker in
            #expect(try await broker.trigger("e", "1", on: "cache-a").status == 200)
            let members = #""ephemeral":true,"idempotency_key":"k""#
            #expect(try await broker.trigger("cache-a", "2", members).body == "{}")
            #expect(try await broker.trigger("cache-a", "2", members).body == #"{"repeated":true}"#)
            let (client, _) = try await broker.subscribed(to: "cache-a")
            #expect(try await client.nextText() == eventText("e", "cache-a", data: "1"))
        }
    }
}
