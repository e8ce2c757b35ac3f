/// A validated event for one or several channels.
///
/// Name and data stay the JSON strings that the publisher wrote; they are not re-encoded.
public struct Publication: Equatable, Sendable {
    private let envelope: EventEnvelope
    /// The channels, each once, in the given order.
    public let channels: [ChannelName]
    /// The connection that does not receive the event.
    public let except: SocketID?
    /// The attributes to return to the publisher.
    public let info: InfoAttributes
    /// The key under which the publisher may repeat the event; `nil` if it has none.
    public var key: IdempotencyKey?
    /// The required last position of the only channel, without which the event is not published; `nil` for no
    /// condition.
    public var ifPosition: ChannelPosition?
    /// Whether the event is only for present subscribers, so that it is not numbered, kept or cached.
    public let isEphemeral: Bool
    /// Whether the publisher is answered only when the event is on the disk, safe from a loss of power.
    public let isDurable: Bool

    init(
        _ envelope: EventEnvelope,
        channels: [ChannelName],
        except: SocketID?,
        info: InfoAttributes,
        key: IdempotencyKey? = nil,
        ifPosition: ChannelPosition? = nil,
        isEphemeral: Bool = false,
        isDurable: Bool = false
    ) {
        self.envelope = envelope
        self.ifPosition = ifPosition
        self.isEphemeral = isEphemeral
        self.isDurable = isDurable
        self.channels = channels
        self.except = except
        self.info = info
        self.key = key
    }

    /// Whether the event needs a number: its position is requested, depends on the preceding one, or must be on the
    /// disk.
    public var needsPosition: Bool { info.contains(.position) || ifPosition != nil || isDurable }

    /// A digest of the event, by which a repetition is distinguished from another event under the same key.
    public var digest: UInt64 { envelope.digest }

    /// The event's name as a JSON string, including quotes; for logs and consoles.
    public var nameToken: [UInt8] { envelope.token(of: \.event) }

    /// The data as a JSON string, including quotes; for logs and consoles.
    public var dataToken: [UInt8] { envelope.token(of: \.data) }

    /// The event's name, decoded; for logs and consoles.
    public var name: String { EventEnvelope.decode(nameToken) }

    /// The data, decoded; for logs and consoles.
    public var data: String { EventEnvelope.decode(dataToken) }

    /// Returns the length of the message to the subscribers of `channel`, in bytes; `serial` is 0 if it has no number.
    public func envelopeLength(for channel: ChannelName, serial: UInt64 = 0) -> Int {
        envelope.length(for: channel, serial: serial)
    }

    /// Appends the message to the subscribers of `channel`; `serial` is 0 if it has no number.
    public func appendEnvelope(
        for channel: ChannelName,
        serial: UInt64 = 0,
        to bytes: inout [UInt8]
    ) {
        envelope.append(for: channel, serial: serial, to: &bytes)
    }
}
