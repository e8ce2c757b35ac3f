import Testing

/// A WebSocket client that writes and reads single frames.
struct WebSocketWire {
    struct Frame: Equatable {
        var opcode: UInt8
        var payload: [UInt8]
        /// RSV1: a compressed message (RFC 7692).
        var isCompressed = false

        var text: String { String(decoding: payload, as: UTF8.self) }
        /// The code of a close frame.
        var closeCode: Int? {
            opcode == 8 && payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil
        }
    }

    let wire: Wire
    /// The answer to the upgrade.
    let responseHead: String

    /// The upgrade request of a client.
    static func upgrade(target: String = Self.target, fields: String = "") -> String {
        "GET \(target) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            + "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            + "Sec-WebSocket-Version: 13\r\n\(fields)\r\n"
    }

    /// The target of the development app's clients.
    static let target = "/app/app-key?protocol=7&client=test&version=1.0"

    init(
        port: UInt16,
        target: String = Self.target,
        fields: String = ""
    ) async throws {
        try await self.init(over: Wire(port: port), target: target, fields: fields)
    }

    init(over wire: Wire, target: String = Self.target, fields: String = "") async throws {
        self.wire = wire
        try wire.send(Self.upgrade(target: target, fields: fields))
        responseHead = try await wire.read(through: "\r\n\r\n")
        #expect(responseHead.hasPrefix("HTTP/1.1 101 "))
    }

    func send(_ text: String) throws { try send(opcode: 1, Array(text.utf8)) }

    /// Sends a masked frame, with a mask that is not zero.
    func send(opcode: UInt8, _ payload: [UInt8]) throws {
        let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
        var frame: [UInt8] = [0x80 | opcode]
        switch payload.count {
        case ...125: frame.append(0x80 | UInt8(payload.count))
        case ...0xFFFF:
            frame += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            frame.append(0x80 | 127)
            frame += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> (8 * $0)) }
        }
        frame += mask
        frame += payload.enumerated().map { $1 ^ mask[$0 % 4] }
        try wire.send(frame)
    }

    func next() async throws -> Frame {
        let head = try await wire.read(2)
        try #require(head[0] & 0x30 == 0, "no such extension was negotiated")
        try #require(head[0] & 0x80 != 0, "the broker sends whole messages")
        try #require(head[1] & 0x80 == 0, "a server does not mask")
        var length = Int(head[1])
        if length == 126 {
            length = try await wire.read(2).reduce(0) { $0 << 8 | Int($1) }
        } else if length == 127 {
            length = try await wire.read(8).reduce(0) { $0 << 8 | Int($1) }
        }
        return Frame(
            opcode: head[0] & 0x0F,
            payload: try await wire.read(length),
            isCompressed: head[0] & 0x40 != 0
        )
    }

    /// The next message's text.
    func nextText() async throws -> String {
        let frame = try await next()
        #expect(frame.opcode == 1 && !frame.isCompressed)
        return frame.text
    }

    /// Reads `connection_established` and returns the socket ID in it.
    func socketID() async throws -> String {
        let text = try await nextText()
        let match = try #require(text.firstMatch(of: /\\"socket_id\\":\\"(\d+\.\d+)\\"/))
        return String(match.1)
    }

    /// Subscribes, and waits for the acknowledgement.
    func subscribe(to channel: String) async throws {
        try send(#"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#)
        let answer = try await nextText()
        #expect(
            answer
                == #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)","data":"{}"}"#
        )
    }
}
