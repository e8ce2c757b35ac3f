package import Broker
package import PusherProtocol

/// A message to all subscribers of a channel.
package struct ChannelMessage: Sendable {
    package let envelope: Envelope
    /// The number of the message in the channel's stream; 0 if it has none.
    package let serial: UInt64
    /// Whether it is a notice of the broker, not a published event.
    let isNotice: Bool
    /// The maximum delay for which a notice may wait to share its send with others, in milliseconds; 0 for events.
    let delayMax: UInt16

    /// Encodes an event, with its serial in the channel's stream; 0 if it has none.
    init(_ event: ProposedEvent, channel: ChannelName, serial: UInt64 = 0) {
        envelope = Envelope(event, channel: channel, serial: serial)
        (self.serial, isNotice, delayMax) = (serial, false, 0)
    }

    /// Creates the message of an event that Redis has ordered, which another node may have encoded without its serial.
    package init(text: [UInt8], serial: UInt64 = 0) {
        envelope = Envelope(text: text, serial: serial)
        (self.serial, isNotice, delayMax) = (serial, false, 0)
    }

    /// Encodes a notice of the broker to all subscribers, which may wait up to `delayMax` milliseconds to share its
    /// send.
    package init(_ notice: ServerMessage, delayMax: UInt16 = 0) {
        envelope = Envelope(notice)
        (serial, isNotice, self.delayMax) = (0, true, delayMax)
    }
}
