import Broker
import PusherProtocol
import WebSocket

/// The frame of an event, shared by all subscribers of a channel.
package struct EventFrame: Sendable {
    /// An unmasked, uncompressed text frame.
    package let bytes: [UInt8]
    private let headerLength: UInt8
    /// Whether it is a notice of the broker, not a published event.
    let isNotice: Bool
    /// The maximum delay in which a notice may share its send with others, in milliseconds; 0 for events.
    var delayMax: UInt16 = 0

    /// Encodes an event, in one allocation.
    init(_ publication: Publication, channel: ChannelName) {
        let length = publication.envelopeLength(for: channel)
        let headerLength = FrameEncoder.headerLength(payloadLength: length, isMasked: false)
        self.headerLength = UInt8(headerLength)
        isNotice = false
        bytes = FrameEncoder.frame(.text, payloadLength: length) {
            publication.appendEnvelope(for: channel, to: &$0)
        }
    }

    /// Encodes a client event; on a presence channel with its user.
    init(_ event: ClientEvent, of user: UserID?, channel: ChannelName) {
        var frame: [UInt8] = []
        let userToken = user.map { JSONWriter.token($0.text) }
        let payload = FrameEncoder.append(.text, to: &frame) {
            event.appendEnvelope(for: channel, userID: userToken, to: &$0)
        }
        headerLength = UInt8(payload.lowerBound)
        isNotice = false
        bytes = frame
    }

    /// Encodes a notice of the broker to all subscribers.
    ///
    /// - Parameters:
    ///   - notice: The notice.
    ///   - delayMax: The maximum delay in which it may share its send, in milliseconds.
    init(_ notice: ServerMessage, delayMax: UInt16 = 0) {
        var frame: [UInt8] = []
        let payload = FrameEncoder.append(.text, to: &frame) { notice.append(to: &$0) }
        headerLength = UInt8(payload.lowerBound)
        isNotice = true
        self.delayMax = delayMax
        bytes = frame
    }

    /// The compressed frame, if compression makes it shorter; otherwise ``bytes``.
    func compressed(by deflater: SharedDeflater) -> [UInt8] {
        deflater.textFrame(bytes.span.extracting(Int(headerLength)...)) ?? bytes
    }
}
