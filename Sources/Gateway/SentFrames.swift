import Net
import PusherProtocol
import WebSocket

// What the frames say that this transport has written.
extension WebSocketTransport {
    /// A frame as text, for the log.
    static func text(of frame: [UInt8]) -> String {
        guard let header = try? FrameHeader.parse(sent: frame.span, at: 0) else { return "" }
        let payload = frame[header.length...]
        if header.isCompressed { return "(\(payload.count) compressed bytes)" }
        return switch header.opcode {
        case .text: String(decoding: payload, as: UTF8.self)
        case .close: "(close)"
        case .ping: "(ping)"
        case .pong: "(pong)"
        case .binary, .continuation: "(\(payload.count) bytes)"
        }
    }

    /// The maximum number of queued messages to examine.
    private static var examinedMax: Int { 1_000 }

    /// The serials are not complete if there are more queued messages than are examined, or compressed ones.
    func queuedSerials() -> (serials: [String: UInt64], areComplete: Bool) {
        var serials: [String: UInt64] = [:]
        var (rest, areComplete) = (Self.examinedMax, true)
        stream.forEachUnsentBuffer { buffer in
            var position = 0
            while rest > 0, position < buffer.count {
                guard let frame = try? FrameHeader.parse(sent: buffer.span, at: position) else {
                    return false
                }
                let start = position + frame.length
                position = start + frame.payloadLength
                guard position <= buffer.count else { return false }
                rest -= 1
                if frame.isCompressed {
                    areComplete = false
                } else if frame.opcode == .text,
                    let (channel, serial) = number(of: buffer.span.extracting(start..<position)),
                    serials[channel] == nil
                {
                    serials[channel] = serial
                }
            }
            return rest > 0
        }
        return (serials, areComplete && rest > 0)
    }

    private func number(of message: Span<UInt8>) -> (channel: String, serial: UInt64)? {
        switch try? ServerMessage.parse(message) {
        case .event(let event)?:
            event.channel.flatMap { channel in event.serial.map { (channel, $0) } }
        case .position(let channel, let serial, _)?: serial.map { (channel, $0) }
        default: nil
        }
    }
}

extension FrameHeader {
    /// Parses the header of a frame that a server sends; `nil` if it is not whole.
    static func parse(
        sent bytes: Span<UInt8>,
        at start: Int
    ) throws(WebSocketError) -> FrameHeader? {
        try parse(bytes, at: start, role: .client, allowsCompression: true)
    }
}
