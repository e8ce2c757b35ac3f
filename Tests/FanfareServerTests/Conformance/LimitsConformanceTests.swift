import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Conformance: limits, Pusher protocol §14, HTTP API §5") struct LimitsConformanceTests {
    private func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    @Test("A channel's name has at most 200 characters, for clients and backends, by one setting")
    func channelNames() async throws {
        for limit in [200, 164] {
            try await TestBroker.run {
                $0.apps[0].limits.texts.channelNameLengthMax = limit
            } _: { broker in
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: text(limit))
                try client.send(
                    #"{"event":"pusher:subscribe","data":{"channel":"\#(text(limit + 1))"}}"#
                )
                let refusal = try await client.nextText()
                #expect(refusal.contains("pusher:subscription_error"))
                #expect(
                    refusal.contains("has \(limit + 1) characters, at most \(limit) are allowed")
                )
                for (count, status) in [(limit, 200), (limit + 1, 400)] {
                    let body = #"{"name":"e","channel":"\#(text(count))","data":"1"}"#
                    #expect(try await broker.post(body).status == status)
                }
            }
        }
    }

    @Test("An event's name has at most 200 characters")
    func eventNames() async throws {
        try await TestBroker.run { broker in
            for (count, status) in [(200, 200), (201, 400)] {
                let body = #"{"name":"\#(text(count))","channel":"a","data":"1"}"#
                let answer = try await broker.post(body)
                #expect(answer.status == status)
            }
        }
    }

    @Test(
        "An event's data has at most 102,400 bytes, or 10,240 by one key, counted after unescaping",
        arguments: [nil, 10_240]
    )
    func eventData(limit: Int?) async throws {
        try await TestBroker.run {
            if let limit { $0.apps[0].limits.texts.dataLengthMax = limit }
        } _: { broker in
            let lengthMax = limit ?? 102_400
            for (unit, bytes) in [("x", 1), ("é", 2), ("\\u0041", 1), ("\\ud83d\\ude00", 4)] {
                let count = lengthMax / bytes
                for (count, status) in [(count, 200), (count + 1, 413)] {
                    let data = String(repeating: unit, count: count)
                    let answer = try await broker.post(
                        #"{"name":"e","channel":"a","data":"\#(data)"}"#
                    )
                    #expect(answer.status == status, "\(unit)")
                    guard status == 413 else { continue }
                    #expect(
                        answer.body.hasPrefix(
                            "The data content of this event exceeds the allowed maximum "
                                + "(\(lengthMax) bytes). See "
                        )
                    )
                    #expect(answer.body.contains("apps.N.event_data_length_max"))
                }
            }
        }
    }

    @Test("Rules by the channel's prefix: the first that fits, and the lowest of several channels")
    func eventDataRules() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.texts.dataLengthMax = 20
            $0.apps[0].limits.texts.dataRules = [
                .init(channelPrefix: "private-ai-small-", lengthMax: 5),
                .init(channelPrefix: "private-ai-", lengthMax: 200_000),
            ]
        } _: { broker in
            for (channels, length, key) in [
                (["private-ai-x"], 200_000, nil), (["private-ai-x"], 200_001, "event_data_rules"),
                (["private-ai-small-x"], 5, nil), (["private-ai-small-x"], 6, "event_data_rules"),
                (["news"], 20, nil), (["news"], 21, "event_data_length_max"),
                (["private-ai-x", "news"], 20, nil),
                (["private-ai-x", "news"], 21, "event_data_length_max"),
            ] as [([String], Int, String?)] {
                let body = #"{"name":"e","channels":\#(channels),"data":"\#(text(length))"}"#
                let answer = try await broker.post(body)
                #expect(answer.status == (key == nil ? 200 : 413), "\(channels) \(length)")
                if let key { #expect(answer.body.contains("the limit is apps.N.\(key) in")) }
                let event = #"{"name":"e","channel":"\#(channels[0])","data":"\#(text(length))"}"#
                let batch = try await broker.post(
                    #"{"batch":[\#(event)]}"#,
                    to: "/apps/1/batch_events"
                )
                if channels.count == 1 { #expect(batch.status == answer.status) }
            }
            // Client events, too.
            let (client, socketID) = try await broker.subscribed(to: "private-ai-x")
            let (other, _) = try await broker.subscribed(to: "private-ai-x")
            try client.publish("client-e", "private-ai-x", json: #""\#(text(150_000))""#)
            #expect(try await other.nextText().count > 150_000)
            try client.send(subscribeMessage(to: "private-b", socketID: socketID))
            _ = try await client.nextText()
            try client.publish("client-e", "private-b", json: #""\#(text(21))""#)
            #expect(try await client.nextText().contains("has 21 bytes, at most 20 are allowed"))
        }
    }

    @Test("A trigger has at most 100 channels")
    func channelsPerTrigger() async throws {
        try await TestBroker.run { broker in
            for (count, status) in [(100, 200), (101, 400)] {
                let channels = (0..<count).map { "c\($0)" }
                let body = #"{"name":"e","channels":\#(channels),"data":"1"}"#
                let answer = try await broker.post(body)
                #expect(answer.status == status)
                if status == 400 { #expect(answer.body == "Too many channels (101 > 100)\n") }
            }
        }
    }

    @Test("A batch has at most 10 events, and the data limit applies to each")
    func eventsPerBatch() async throws {
        try await TestBroker.run { broker in
            for (count, status) in [(10, 200), (11, 400)] {
                let event = #"{"name":"e","channel":"a","data":"\#(text(102_400))"}"#
                let events = Array(repeating: event, count: count).joined(separator: ",")
                let answer = try await broker.post(
                    #"{"batch":[\#(events)]}"#,
                    to: "/apps/1/batch_events"
                )
                #expect(answer.status == status)
                if status == 400 { #expect(answer.body == "Batch too large (11 > 10)\n") }
            }
        }
    }

    @Test("A user id has at most 128 characters, and user_info 1,024 bytes")
    func members() async throws {
        try await TestBroker.run { broker in
            for (id, info, isAccepted) in [
                (128, 2, true), (129, 2, false), (1, 1_024, true), (1, 1_025, false),
            ] {
                let (client, socketID) = try await broker.connected()
                // A JSON string: two of its bytes are the quotes.
                let data = #"{"user_id":"\#(text(id))","user_info":"\#(text(info - 2))"}"#
                try client.send(subscribeMessage(to: "presence-x", socketID: socketID, data: data))
                let answer = try await client.nextText()
                #expect(answer.contains("subscription_succeeded") == isAccepted)
                if !isAccepted { #expect(answer.contains(#"\"type\":\"LimitReached\""#)) }
            }
        }
    }

    @Test("Content over the limit is refused with 413 when its length is announced")
    func requestBodies() async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            try wire.send(
                "POST /apps/1/events HTTP/1.1\r\nHost: h\r\nContent-Length: 2097153\r\n\r\n"
            )
            let answer = try await wire.answer()
            #expect(answer.status == 413)
            #expect(answer.body.contains("limits.request_body_length_max"))
        }
    }
}
