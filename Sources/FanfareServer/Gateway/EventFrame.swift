import PusherProtocol
import WebSocket

/// The one frame that all subscribers of a channel share.
enum EventFrame {
    /// Encodes an event as an unmasked text frame, in one allocation.
    static func encode(_ publication: Publication, channel: ChannelName) -> [UInt8] {
        let length = publication.envelopeLength(for: channel)
        var frame: [UInt8] = []
        frame.reserveCapacity(
            FrameEncoder.headerLength(payloadLength: length, isMasked: false) + length
        )
        FrameEncoder.appendHeader(.text, payloadLength: length, to: &frame)
        publication.appendEnvelope(for: channel, to: &frame)
        return frame
    }
}
