import Broker
import BrokerConfiguration
import Glibc
import HTTPServer
import Net
import PusherProtocol
import Simulation
import TestFiles
import Testing

@testable import FanfareServer
@testable import Gateway

@Suite("Limits of times") struct TimeLimitTests {
    @Test func ofATLSHandshake() async throws {
        let pair = try TemporaryCertificate()
        try await TestBroker.run {
            $0.port = nil
            $0.tlsPort = 0
            $0.certificates = [.init(certificate: pair.certificate.path, key: pair.key.path)]
            $0.streamLimits.handshakeTimeout = .seconds(1)
        } _: { broker in
            let silent = try Wire(port: broker.tlsPort)
            let begun = try Wire(port: broker.tlsPort)
            try begun.send([0x16, 3, 1])
            #expect(try await silent.readToEnd().isEmpty)
            // An incomplete record is not read, so the kernel sends a reset.
            #expect(try await begun.readToEnd(orReset: true).isEmpty)
            try await eventually { await broker.hits(.tlsHandshakeTime) == 2 }
        }
    }

    @Test(
        "Of a request's head and of its body: 408",
        arguments: [
            ("GET /health HT", Limit.requestHeadTime),
            ("", Limit.requestBodyTime),
        ]
    )
    func ofARequest(start: String, limit: Limit) async throws {
        // Signed, since otherwise the body is not awaited.
        let request = SignedRequest(path: "/apps/1/events", body: "{}")
        try await TestBroker.run {
            $0.httpTimeouts.head = .seconds(1)
            $0.httpTimeouts.body = .seconds(1)
        } _: { broker in
            let wire = try Wire(port: broker.port)
            try wire.send(start.isEmpty ? request.head(["Content-Length: 9"]) + "{" : start)
            let answer = try await wire.answer()
            #expect(answer.status == 408)
            #expect(await broker.hits(limit) == 1)
        }
    }

    @Test("Of a trigger on a congested channel: 503, and the event is not published")
    func ofATriggerToACongestedChannel() async throws {
        try await TestBroker.run {
            $0.triggerTimeout = .seconds(1)
            // Slow readers are waited for in turns of a second: events that a turn's end lets in must not close it.
            $0.streamLimits.queuedBytesMax = 128 << 20
            $0.apps[0].limits.texts.dataLengthMax = 200_000
        } _: { broker in
            let (client, _) = try await broker.subscribed(to: "news")
            let data = String(repeating: "x", count: 200_000)
            // While the subscriber does not read, buffers fill, and then the triggers wait.
            let backends = try (0..<16).map { _ in try Wire(port: broker.port) }
            var statuses: [Int] = []
            for number in 0..<40 where !statuses.contains(503) {
                for backend in backends {
                    let body = #"{"name":"e\#(number)","channels":["news"],"data":"\#(data)"}"#
                    try await backend.pour(
                        Array(SignedRequest(path: "/apps/1/events", body: body).text.utf8)
                    )
                }
                for backend in backends {
                    let answer = try await backend.answer()
                    statuses.append(answer.status)
                    guard answer.status != 200 else { continue }
                    #expect(answer.status == 503 && answer.body.contains("waited 1 seconds"))
                    #expect(answer.head.lowercased().contains("\r\nretry-after: 1\r\n"))
                }
            }
            #expect(await broker.hits(.triggerTime) == statuses.count { $0 == 503 })
            // Accepted events arrive, refused ones do not.
            for _ in 0..<statuses.count(where: { $0 == 200 }) {
                #expect(try await client.nextText().contains(data))
            }
            _ = try await broker.trigger("last", "1", on: "news")
            #expect(try await client.nextText() == eventText("last", "news", data: "1"))
        }
    }

    @Test("Of an answer, also on a channel that stays congested: 503")
    func ofAnAnswer() async throws {
        try await TestBroker.run {
            $0.triggerTimeout = .seconds(600)
            $0.httpTimeouts.answer = .seconds(1)
            $0.streamLimits.queuedBytesMax = 128 << 20
            $0.apps[0].limits.texts.dataLengthMax = 200_000
        } _: { broker in
            let (client, _) = try await broker.subscribed(to: "news")
            let data = String(repeating: "x", count: 200_000)
            var answer: Answer?
            for number in 0..<640 where answer?.status ?? 200 == 200 {
                answer = try await broker.trigger("e\(number)", data, on: "news")
            }
            #expect(answer?.status == 503 && answer?.head.contains("Retry-After: 1\r\n") == true)
            #expect(answer?.body.contains("unknown whether the request is executed") == true)
            #expect(await broker.hits(.answerTime) == 1)
            withExtendedLifetime(client) {}
        }
    }

    @Test func withoutARequest() async throws {
        try await TestBroker.run {
            $0.httpTimeouts.idle = .seconds(1)
        } _: { broker in
            let (client, _) = try await broker.connected()
            #expect(try await Wire(port: broker.port).readToEnd().isEmpty)
            #expect(await broker.hits(.requestIdleTime) == 1)
            // A WebSocket client is not a request.
            try await client.subscribe(to: "news")
        }
    }

    @Test(
        "Of a message that arrives in parts, with other frames in between: 4100",
        arguments: [
            ("a frame that drips", Frames.frame(1, [0x20], announced: 5_000), [0x20]),
            (
                "fragments without an end", Frames.frame(1, [0x20], isFinal: false),
                Frames.frame(0, [0x20], isFinal: false)
            ),
            (
                "pongs between fragments", Frames.frame(1, [0x20], isFinal: false),
                Frames.frame(10)
            ),
        ] as [(String, [UInt8], [UInt8])]
    )
    func ofAMessage(name: String, beginning: [UInt8], rest: [UInt8]) async throws {
        try await TestBroker.run {
            $0.messageTimeout = .seconds(1)
        } _: { broker in
            let (client, _) = try await broker.connected()
            let start = ContinuousClock.now
            try await client.wire.pour(beginning)
            while !client.wire.hasPeerEnded, ContinuousClock.now - start < .seconds(20) {
                try await client.wire.pour(rest)
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(ContinuousClock.now - start > .seconds(1))
            let text = try await client.nextText()
            #expect(text.contains(#""code":4100,"message":"A message has not arrived within 1 s"#))
            #expect(try await client.next().closeCode == 4100)
            #expect(await broker.hits(.messageTime) == 1)
            #expect(await broker.server.shards[0].inboundByteCount == 0)
        }
    }

    @Test("Each message of a connection has its own time")
    func ofEachMessage() throws {
        // A broker with the test's clock, and a limit of 30 seconds.
        var now = MonotonicTime(nanoseconds: 0)
        var number: UInt64 = 0
        let broker = try SimulatedBroker(
            .development,
            clocks: [LoopClock(now: { now }, unixTime: { 1_700_000_000 })],
            random: {
                number += 1
                return number &* 0x9E37_79B9_7F4A_7C15
            }
        )
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        defer { close(ends[1]) }
        try broker.accept(FileDescriptor(ends[0], from: "socketpair"), on: 0)
        func answer(to bytes: [UInt8]) -> String {
            _ = send(ends[1], bytes, bytes.count, Int32(MSG_NOSIGNAL))
            for _ in 0..<10 { broker.turn(0) }
            var received = [UInt8](repeating: 0, count: 4_096)
            let count = recv(ends[1], &received, received.count, Int32(MSG_DONTWAIT))
            return String(decoding: received.prefix(max(count, 0)), as: UTF8.self)
        }
        #expect(answer(to: Array(WebSocketWire.upgrade().utf8)).contains("connection_established"))
        // There is always an incomplete message, and each arrives within twenty seconds.
        let (first, second) = (Array(Frames.ping.prefix(9)), Array(Frames.ping.dropFirst(9)))
        #expect(answer(to: first).isEmpty)
        for _ in 0..<20 {
            now = now.advanced(by: .seconds(20))
            #expect(answer(to: second + first).contains("pusher:pong"))
        }
        now = now.advanced(by: .seconds(29))
        #expect(answer(to: []).isEmpty)
        // The check is up to four seconds late.
        now = now.advanced(by: .seconds(5))
        #expect(answer(to: []).contains(#""code":4100"#))
    }

    @Test func toAnswerAPing() async throws {
        try await TestBroker.run {
            $0.activityTimeout = 1
            $0.pongTimeout = 1
        } _: { broker in
            let (client, _) = try await broker.connected()
            #expect(try await client.next().opcode == 9)
            try await client.expectEnd(4201)
            #expect(await broker.hits(.pongTime) == 1)
        }
    }
}
