internal import Primitives
public import PusherProtocol
internal import WebSocket

/// A message to all subscribers of a channel: the text that is numbered, kept, stored and sent.
///
/// It is encoded once. Nearly all subscribers get it as an uncompressed frame of WebSocket, so one buffer, which rings
/// and send queues share, holds the frame's header and the text. Other transports encode the ``text``.
public struct Envelope: Sendable, Equatable {
    /// An unmasked, uncompressed text frame whose payload is the text (RFC 6455 §5.2).
    public let frame: [UInt8]

    private init(frame: [UInt8]) { self.frame = frame }

    /// Encodes an event in one allocation, with its serial in the channel's stream; 0 if it has none.
    public init(_ event: ProposedEvent, channel: ChannelName, serial: UInt64 = 0) {
        frame = FrameEncoder.frame(
            .text,
            payloadLength: event.envelopeLength(for: channel, serial: serial)
        ) {
            event.appendEnvelope(for: channel, serial: serial, to: &$0)
        }
    }

    /// Encodes a notice of the broker.
    public init(_ notice: ServerMessage) {
        var frame: [UInt8] = []
        FrameEncoder.append(.text, to: &frame) { notice.append(to: &$0) }
        self.frame = frame
    }

    /// Creates an envelope of a text that was encoded before.
    public init(text: Span<UInt8>) { frame = FrameEncoder.frame(.text, payload: text) }

    /// Creates an envelope of an event that was encoded without its serial, a JSON object; 0 if it gets none.
    public init(text: [UInt8], serial: UInt64 = 0) {
        guard serial != 0, text.last == UInt8(ascii: "}") else {
            self.init(text: text.span)
            return
        }
        let member: StaticString = ",\"serial\":"
        let length = text.count + member.utf8CodeUnitCount + serial.decimalDigitCount
        self.init(
            frame: FrameEncoder.frame(.text, payloadLength: length) {
                $0 += text[..<(text.count - 1)]
                $0.append(member)
                $0.append(decimal: serial)
                $0.append(UInt8(ascii: "}"))
            }
        )
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
