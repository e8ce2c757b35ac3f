import Broker
import BrokerConfiguration
import HTTP1
import PusherProtocol
import Testing
import WebSocket

@testable import FanfareServer

@Suite("Limits of lengths") struct LengthLimitTests {
    private func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    @Test(
        "Of a request's head: 431, and 414 for its first line",
        arguments: [
            ("GET /health HTTP/1.1\r\nHost: h\r\nX: " + String(repeating: "x", count: 2_000), 431),
            ("GET /" + String(repeating: "x", count: 9_000), 414),
        ]
    )
    func requestHead(start: String, status: Int) async throws {
        try await TestBroker.run {
            $0.httpLimits.fieldBytesMax = 1_024
        } _: { broker in
            let wire = try Wire(port: broker.port)
            try wire.send(start)
            let answer = try await wire.answer()
            #expect(answer.status == status)
            #expect(await broker.hits(.requestHeadLength) == 1)
        }
    }

    @Test func requestBody() async throws {
        try await TestBroker.run {
            $0.httpLimits.bodyLengthMax = 20_000
        } _: { broker in
            let wire = try Wire(port: broker.port)
            try wire.send(
                "POST /apps/1/events HTTP/1.1\r\nHost: h\r\nContent-Length: 20001\r\n\r\n"
            )
            #expect(try await wire.answer().status == 413)
            #expect(await broker.hits(.requestBodyLength) == 1)
        }
    }

    @Test func message() async throws {
        try await TestBroker.run {
            $0.webSocketLimits.messageLengthMax = 1_024
        } _: { broker in
            let (client, _) = try await broker.connected()
            try client.send(text(1_025))
            #expect(try await client.next().closeCode == 1_009)
            #expect(await broker.hits(.messageLength) == 1)
        }
    }

    @Test func fragmentsOfAMessage() async throws {
        try await TestBroker.run {
            $0.webSocketLimits.fragmentCountMax = 4
        } _: { broker in
            let (client, _) = try await broker.connected()
            // Empty ones, of which the first has the opcode of text (RFC 6455 §5.4).
            let mask: [UInt8] = [0x80, 1, 2, 3, 4]
            for opcode: UInt8 in [1, 0, 0, 0, 0] { try client.wire.send([opcode] + mask) }
            #expect(try await client.next().closeCode == 1_009)
            #expect(await broker.hits(.messageFragments) == 1)
        }
    }

    @Test func textsOfAnApp() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.texts.channelNameLengthMax = 20
            $0.apps[0].limits.texts.dataLengthMax = 50
            $0.apps[0].limits.texts.channelsPerTriggerMax = 2
            $0.apps[0].limits.texts.eventsPerBatchMax = 1
        } _: { broker in
            let (client, _) = try await broker.subscribed(to: "private-x")
            try client.send(
                #"{"event":"pusher:subscribe","data":{"channel":"\#(text(21))"}}"#
            )
            #expect(try await client.nextText().contains("pusher:subscription_error"))
            _ = try await client.nextText()
            #expect(await broker.hits(.channelNameLength) == 1)
            try client.publish("client-x", "private-x", json: #""\#(text(51))""#)
            #expect(try await client.nextText().contains("at most 50 are allowed"))
            #expect(await broker.hits(.eventDataLength) == 1)
            for (body, path, status) in [
                (#"{"name":"e","channel":"a","data":"\#(text(51))"}"#, "events", 413),
                (#"{"name":"e","channels":["a","b","c"],"data":"1"}"#, "events", 400),
                (
                    #"{"batch":[{"name":"e","channel":"a","data":"1"},{"name":"e","channel":"a","data":"1"}]}"#,
                    "batch_events", 400
                ),
            ] {
                let answer = try await broker.post(body, to: "/apps/1/" + path)
                #expect(answer.status == status)
            }
            #expect(await broker.hits(.eventDataLength) == 2)
            #expect(await broker.hits(.triggerChannels) == 1)
            #expect(await broker.hits(.batchEvents) == 1)
        }
    }

    @Test func userInfoOfAMember() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.userInfoLengthMax = 10
        } _: { broker in
            let (client, socketID) = try await broker.connected()
            let data = #"{"user_id":"ann","user_info":"\#(text(9))"}"#
            try client.send(subscribeMessage(to: "presence-x", socketID: socketID, data: data))
            #expect(try await client.nextText().contains("LimitReached"))
            #expect(await broker.hits(.userInfoLength) == 1)
        }
    }
}
