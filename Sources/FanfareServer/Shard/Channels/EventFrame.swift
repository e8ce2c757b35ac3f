import Broker
import PusherProtocol
import WebSocket

/// The one frame that the subscribers of a channel share.
package struct EventFrame: Sendable {
    /// An unmasked text frame, as it goes to whoever did not ask for compression.
    package let bytes: [UInt8]
    private let headerLength: UInt8
    /// Whether it is a notice of the broker's own, which nobody has published.
    let isNotice: Bool
    /// How long it may wait for others to share their sends, in milliseconds; an event may not.
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

    /// Encodes an event of a client, which on a presence channel is one of this user.
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

    /// Encodes a notice of the broker's own to all subscribers.
    ///
    /// - Parameters:
    ///   - notice: The notice.
    ///   - delayMax: How long it may wait for others, in milliseconds.
    init(_ notice: ServerMessage, delayMax: UInt16 = 0) {
        var frame: [UInt8] = []
        let payload = FrameEncoder.append(.text, to: &frame) { notice.append(to: &$0) }
        headerLength = UInt8(payload.lowerBound)
        isNotice = true
        self.delayMax = delayMax
        bytes = frame
    }

    /// The same event in a compressed frame, where that pays; otherwise ``bytes``.
    func compressed(by deflater: SharedDeflater) -> [UInt8] {
        deflater.textFrame(bytes.span.extracting(Int(headerLength)...)) ?? bytes
    }
}
