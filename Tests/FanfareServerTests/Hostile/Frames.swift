import BrokerConfiguration
import Testing

@testable import FanfareServer
@testable import WebSocket

/// Frames of a client as bytes, well-formed or not; their mask is zero, so payloads are unchanged.
enum Frames {
    /// One frame.
    ///
    /// - Parameters:
    ///   - opcode: 1 for text, 0 for a continuation, 8 for close, 9 for ping, 10 for pong.
    ///   - payload: The payload.
    ///   - isFinal: Whether it is the last frame of the message.
    ///   - isCompressed: Whether it is the first frame of a compressed message.
    ///   - announced: The length in the header, if it is not the true one.
    /// - Returns: The frame.
    static func frame(
        _ opcode: UInt8,
        _ payload: [UInt8] = [],
        isFinal: Bool = true,
        isCompressed: Bool = false,
        announced: UInt64? = nil
    ) -> [UInt8] {
        let length = announced ?? UInt64(payload.count)
        var bytes = [(isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode]
        switch length {
        case ...125: bytes.append(0x80 | UInt8(length))
        case ...0xFFFF: bytes += [0x80 | 126, UInt8(length >> 8), UInt8(length & 0xFF)]
        default:
            bytes.append(0x80 | 127)
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
        }
        return bytes + [0, 0, 0, 0] + payload
    }

    /// A whole message.
    static func text(_ text: String) -> [UInt8] { frame(1, Array(text.utf8)) }

    /// A `pusher:subscribe` for a channel without signature.
    static func subscribe(_ channel: String) -> [UInt8] {
        text(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#)
    }

    /// A `pusher:unsubscribe`.
    static func unsubscribe(_ channel: String) -> [UInt8] {
        text(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#)
    }

    /// A `pusher:ping`.
    static let ping = text(#"{"event":"pusher:ping"}"#)

    /// Compresses bytes as a message of permessage-deflate.
    static func deflated(_ bytes: [UInt8]) -> [UInt8] {
        Deflater(windowBits: 15, level: 9, memoryLevel: 8).deflate(bytes.span)
    }

    /// The same bytes over and over.
    static func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
        // By doubling: a loop of half a million steps would delay other tests.
        guard count > 1 else { return count == 1 ? bytes : [] }
        let half = repeated(bytes, count / 2)
        return half + half + (count % 2 == 1 ? bytes : [])
    }
}

/// The data of a hostile client, and the expected answers.
struct HostileFrames: CustomTestStringConvertible, Sendable {
    /// An answer.
    enum Expected: Sendable {
        /// A `pusher:error` without a code, whose text contains this.
        case error(String)
        /// A message that contains this.
        case message(String)
        /// A pong with this payload.
        case pong([UInt8])
        /// A close frame with a code, or none, and this in its reason; it is the last frame.
        case close(Int?, String)
    }

    let testDescription: String
    let bytes: [UInt8]
    let answers: [Expected]

    /// Frames, and all answers; the connection stays open unless they end with a close frame.
    init(_ name: String, _ bytes: [UInt8], _ answers: Expected...) {
        testDescription = name
        self.bytes = bytes
        self.answers = answers
    }

    /// Messages, as above.
    init(_ text: String, _ answers: Expected...) {
        let isLong = text.utf8.count > 100
        testDescription = isLong ? "\(text.prefix(80))… \(text.utf8.count) bytes" : text
        bytes = Frames.text(text)
        self.answers = answers
    }

    /// Sends the frames over a greeted connection, and expects the answers and nothing else.
    func run(over client: WebSocketWire) async throws {
        try await client.wire.pour(bytes)
        for answer in answers {
            let frame = try await client.next()
            switch answer {
            case .error(let text):
                #expect(
                    frame.text.hasPrefix(
                        #"{"event":"pusher:error","data":{"code":null,"message":""#
                    ) && frame.text.contains(text),
                    "\(frame.text.prefix(500))"
                )
            case .message(let text):
                #expect(
                    frame.opcode == 1 && frame.text.contains(text),
                    "\(frame.text.prefix(500))"
                )
            case .pong(let payload):
                #expect(frame == WebSocketWire.Frame(opcode: 10, payload: payload))
            case .close(let code, let reason):
                #expect(frame.opcode == 8 && frame.closeCode == code, "\(frame.text.prefix(500))")
                let text = String(decoding: frame.payload.dropFirst(2), as: UTF8.self)
                #expect(text.contains(reason), "\(text)")
                return try await client.wire.expectNoMore(orReset: true)
            }
        }
        try await client.expectNothing()
    }

    /// The same, over a new connection beside the bystander.
    func run(
        offering extensions: String? = nil,
        _ change: (inout Configuration) -> Void = { _ in }
    ) async throws {
        try await TestBroker.attacked(change) { broker in
            let offer = extensions.map { "Sec-WebSocket-Extensions: \($0)\r\n" } ?? ""
            let client = try await WebSocketWire(port: broker.port, fields: offer)
            _ = try await client.socketID()
            try await run(over: client)
        }
    }
}
