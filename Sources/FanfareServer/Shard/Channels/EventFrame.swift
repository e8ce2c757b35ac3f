import Broker
import Primitives
import PusherProtocol
import WebSocket

/// The frame of an event, shared by all subscribers of a channel.
package struct EventFrame: Sendable {
    /// An unmasked, uncompressed text frame.
    package let bytes: [UInt8]
    private let headerLength: UInt8
    /// Whether it is a notice of the broker, not a published event.
    let isNotice: Bool
    /// The maximum delay for which a notice may wait to share its send with others, in milliseconds; 0 for events.
    var delayMax: UInt16 = 0
    /// The number of the message in the channel's stream; 0 if it has none.
    package let serial: UInt64

    /// Encodes an event in one allocation, with its serial in the channel's stream; 0 if it has none.
    init(_ event: ProposedEvent, channel: ChannelName, serial: UInt64 = 0) {
        self.serial = serial
        let length = event.envelopeLength(for: channel, serial: serial)
        let headerLength = FrameEncoder.headerLength(payloadLength: length, isMasked: false)
        self.headerLength = UInt8(headerLength)
        isNotice = false
        bytes = FrameEncoder.frame(.text, payloadLength: length) {
            event.appendEnvelope(for: channel, serial: serial, to: &$0)
        }
    }

    /// Frames an event that Redis has ordered, which another node may have encoded.
    ///
    /// - Parameters:
    ///   - envelope: The message to the subscribers, an object without its serial.
    ///   - serial: The number of the message in the channel's stream; 0 if it has none.
    init(envelope: [UInt8], serial: UInt64 = 0) {
        self.serial = serial
        let isNumbered = serial != 0 && envelope.last == UInt8(ascii: "}")
        let member: StaticString = ",\"serial\":"
        let length =
            envelope.count + (isNumbered ? member.utf8CodeUnitCount + serial.decimalDigitCount : 0)
        headerLength = UInt8(FrameEncoder.headerLength(payloadLength: length, isMasked: false))
        isNotice = false
        bytes = FrameEncoder.frame(.text, payloadLength: length) { bytes in
            guard isNumbered else { return bytes += envelope }
            bytes += envelope[..<(envelope.count - 1)]
            bytes.append(member)
            bytes.append(decimal: serial)
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Encodes a notice of the broker to all subscribers, which may wait up to `delayMax` milliseconds to share its
    /// send.
    init(_ notice: ServerMessage, delayMax: UInt16 = 0) {
        serial = 0
        var frame: [UInt8] = []
        let payload = FrameEncoder.append(.text, to: &frame) { notice.append(to: &$0) }
        headerLength = UInt8(payload.lowerBound)
        isNotice = true
        self.delayMax = delayMax
        bytes = frame
    }

    /// The length of the header of an unmasked frame (RFC 6455 §5.2); for a damaged frame, it may exceed the frame's
    /// length.
    static func headerLength(_ frame: [UInt8]) -> Int { headerLength(frame, at: 0) }

    /// The same for a frame that begins at an index.
    static func headerLength(_ bytes: [UInt8], at start: Int) -> Int {
        guard bytes.count > start + 1 else { return 2 }
        return switch bytes[start + 1] {
        case 126: 4
        case 127: 10
        default: 2
        }
    }

    /// The compressed frame, if compression makes it shorter; otherwise ``bytes``.
    func compressed(by deflater: SharedDeflater) -> [UInt8] {
        deflater.textFrame(bytes.span.extracting(Int(headerLength)...)) ?? bytes
    }
}
