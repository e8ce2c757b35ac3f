import BrokerConfiguration
import HTTPServer
import Net
import Testing

@testable import FanfareServer

@Suite("Slow senders and slow readers", .serialized) struct SlowTests {
    /// Short enough for a test, but longer than the bystander's backend is ever idle on a busy machine.
    private static func beShort(_ configuration: inout Configuration) {
        configuration.httpTimeouts.head = .seconds(1)
        configuration.httpTimeouts.body = .seconds(1)
        configuration.httpTimeouts.idle = .seconds(8)
    }
    /// A signed head, since otherwise the content is not awaited.
    private static func post(_ fields: String...) -> String {
        SignedRequest(path: "/apps/1/events").head(fields)
    }

    /// The part that is sent at once, and the part that follows a byte at a time.
    private static let drips: [(String, String, String)] = [
        ("a head", "GET /health HTTP/1.1\r\n", "Host: \(String(repeating: "h", count: 5_000))"),
        ("a request line", "", "GET /\(String(repeating: "h", count: 5_000))"),
        (
            "a head behind a whole request", "GET /health HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /\(String(repeating: "h", count: 5_000))"
        ),
        ("fields", "GET / HTTP/1.1\r\n", String(repeating: "a:\r\n", count: 1_000)),
        ("content", post("Content-Length: 9999"), String(repeating: " ", count: 5_000)),
        (
            "content that was waited for", post("Expect: 100-continue", "Content-Length: 9999"),
            String(repeating: " ", count: 5_000)
        ),
        (
            "chunks", post("Transfer-Encoding: chunked"),
            String(repeating: "1\r\n \r\n", count: 1_000)
        ),
        (
            "trailers", post("Transfer-Encoding: chunked") + "0\r\n",
            String(repeating: "a:\r\n", count: 1_000)
        ),
    ]

    @Test("A slow request is refused with 408 after the timeout")
    func senders() async throws {
        try await TestBroker.attacked(loops: 2) {
            Self.beShort(&$0)
            // The idle timeout must not close them, however long the machine takes to start.
            $0.httpTimeouts.idle = .seconds(30)
        } by: { broker in
            var senders: [(name: String, wire: Wire, rest: ArraySlice<UInt8>)] = []
            for (name, beginning, rest) in Self.drips {
                for _ in 0..<5 {
                    let wire = try Wire(port: broker.port)
                    try await wire.pour(Array(beginning.utf8))
                    senders.append((name, wire, Array(rest.utf8)[...]))
                }
            }
            // Each byte arrives long before the timeout, and none extends it.
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .milliseconds(1_500) {
                // Bytes for a closed connection cause a reset, which discards the answer.
                for index in senders.indices where !senders[index].wire.hasPeerEnded {
                    try await senders[index].wire.pour([senders[index].rest.removeFirst()])
                }
                try await Task.sleep(for: .milliseconds(20))
            }
            for sender in senders {
                let answers = String(
                    decoding: try await sender.wire.readToEnd(orReset: true),
                    as: UTF8.self
                )
                let last = answers.split(separator: "HTTP/1.1 ").last ?? ""
                #expect(
                    last.hasPrefix("408 ") && last.contains("did not arrive within 1 seconds"),
                    "\(sender.name): \(answers)"
                )
            }
        }
    }

    @Test("A client that does not read answers is no longer read, and then disconnected")
    func readersOfAnswers() async throws {
        try await TestBroker.attacked(loops: 2, Self.beShort) { broker in
            var wires: [Wire] = []
            let requests = Frames.repeated(
                Array("GET /health HTTP/1.1\r\nHost: h\r\n\r\n".utf8),
                300_000
            )
            for _ in 0..<3 {
                let wire = try Wire(port: broker.port, keepsLittle: true)
                let count = try await wire.pour(requests, patience: .milliseconds(300))
                #expect(count < requests.count)
                wires.append(wire)
            }
            // A client that starts to read in time is served.
            try await eventually { await broker.server.streamCount == 2 }
            for wire in wires {
                let answers = try await wire.readToEnd(orReset: true)
                #expect(answers.count < 2 << 20)
                #expect(answers.starts(with: Array("HTTP/1.1 200 ".utf8)))
            }
        }
    }

    @Test("Subscribers that do not read get the first events, in order, and then 4100")
    func readersOfEvents() async throws {
        try await TestBroker.attacked(loops: 2) {
            $0.streamLimits.queuedBytesMax = 64 << 10
        } by: { broker in
            var readers: [WebSocketWire] = []
            for _ in 0..<20 {
                let reader = try await WebSocketWire(
                    over: Wire(port: broker.port, keepsLittle: true)
                )
                _ = try await reader.socketID()
                try await reader.subscribe(to: "flood")
                readers.append(reader)
            }
            let filler = String(repeating: "x", count: 10_000)
            var number = 0
            while try await broker.isOccupied("flood") {
                let answer = try await broker.trigger("e", "\(number) \(filler)", on: "flood")
                #expect(answer.status == 200)
                number += 1
            }
            for reader in readers {
                var count = 0
                var frame = try await reader.next()
                while frame.text.hasPrefix(#"{"event":"e","#) {
                    #expect(frame.text.contains("\"\(count) \(filler)\""))
                    count += 1
                    frame = try await reader.next()
                }
                #expect(0 < count && count < number)
                #expect(
                    frame.text.contains(#""code":4100,"message":"The connection reads too slowly"#)
                )
                #expect(try await reader.next().closeCode == 4100)
            }
        }
    }

    @Test("A slow message of a client delays no other client")
    func clients() async throws {
        try await TestBroker.attacked { broker in
            var clients: [WebSocketWire] = []
            for _ in 0..<20 { clients.append(try await broker.connected().0) }
            for byte in Frames.subscribe("drip") {
                for client in clients { try await client.wire.pour([byte]) }
                try await Task.sleep(for: .milliseconds(2))
            }
            for client in clients {
                #expect(try await client.nextText().contains("subscription_succeeded"))
            }
        }
    }
}
