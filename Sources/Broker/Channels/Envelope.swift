internal import Primitives
public import PusherProtocol

/// A message to all subscribers of a channel: the text that is numbered, kept, stored and sent.
///
/// It is encoded once. Nearly all subscribers get it as an uncompressed frame of WebSocket, so one buffer, which rings
/// and send queues share, holds the frame's header and the text. Other transports encode the ``text``.
public struct Envelope: Sendable, Equatable {
    /// An unmasked, uncompressed text frame whose payload is the text (RFC 6455 §5.2).
    public let frame: [UInt8]

    /// Encodes an event in one allocation, with its serial in the channel's stream; 0 if it has none.
    public init(_ event: ProposedEvent, channel: ChannelName, serial: UInt64 = 0) {
        self.init(length: event.envelopeLength(for: channel, serial: serial)) {
            event.appendEnvelope(for: channel, serial: serial, to: &$0)
        }
    }

    /// Encodes a notice of the broker.
    public init(_ notice: ServerMessage) { self.init(text: notice.bytes) }

    /// Creates an envelope of a text that was encoded before.
    public init(text: Span<UInt8>) {
        self.init(length: text.count) { bytes in
            text.withUnsafeBufferPointer { bytes += $0 }
        }
    }

    /// Creates an envelope of an event that was encoded without its serial, a JSON object; 0 if it gets none.
    public init(text: [UInt8], serial: UInt64 = 0) {
        guard serial != 0, text.last == UInt8(ascii: "}") else {
            self.init(length: text.count) { $0 += text }
            return
        }
        let member: StaticString = ",\"serial\":"
        let length = text.count + member.utf8CodeUnitCount + serial.decimalDigitCount
        self.init(length: length) {
            $0 += text[..<(text.count - 1)]
            $0.append(member)
            $0.append(decimal: serial)
            $0.append(UInt8(ascii: "}"))
        }
    }

    /// Writes the header, with the shortest length field, and then the text.
    private init(length: Int, writing write: (inout [UInt8]) -> Void) {
        let fieldLength = length <= 125 ? 0 : length <= 65_535 ? 2 : 8
        var bytes: [UInt8] = []
        bytes.reserveCapacity(2 + fieldLength + length)
        // The only frame of a text message.
        bytes.append(0x81)
        bytes.append(fieldLength == 0 ? UInt8(length) : fieldLength == 2 ? 126 : 127)
        for place in stride(from: fieldLength - 1, through: 0, by: -1) {
            bytes.append(UInt8(truncatingIfNeeded: length >> (8 * place)))
        }
        write(&bytes)
        precondition(bytes.count == 2 + fieldLength + length, "the text differs from its length")
        frame = bytes
    }

    /// The length of the text, in bytes.
    public var byteCount: Int { frame.count - headerLength }

    /// The text, a JSON object.
    public var text: ArraySlice<UInt8> { frame[headerLength...] }

    /// The index of the text in the frame.
    public var headerLength: Int {
        switch frame[1] {
        case 126: 4
        case 127: 10
        default: 2
        }
    }
}
