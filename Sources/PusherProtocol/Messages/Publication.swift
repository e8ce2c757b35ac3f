/// An event on its way to one or several channels, checked against every limit.
///
/// Name and data stay the JSON strings that the publisher wrote: nothing is decoded and encoded again.
public struct Publication: Equatable, Sendable {
    private let envelope: EventEnvelope
    /// Where it goes, each channel once, in the order given.
    public let channels: [ChannelName]
    /// The connection to leave out.
    public let except: SocketID?
    /// What the publisher wants to know in return.
    public let info: InfoAttributes

    init(
        _ envelope: EventEnvelope,
        channels: [ChannelName],
        except: SocketID?,
        info: InfoAttributes
    ) {
        self.envelope = envelope
        self.channels = channels
        self.except = except
        self.info = info
    }

    /// The event's name as a JSON string, quotes included; for logs and consoles.
    public var nameToken: [UInt8] { envelope.token(of: \.event) }

    /// The data as a JSON string, quotes included, also where it was no string; for logs and consoles.
    public var dataToken: [UInt8] { envelope.token(of: \.data) }

    /// The event's name, decoded; for logs and consoles.
    public var name: String { EventEnvelope.decode(nameToken) }

    /// The data, decoded; for logs and consoles.
    public var data: String { EventEnvelope.decode(dataToken) }

    /// The length of the message to the subscribers of `channel`, in bytes.
    public func envelopeLength(for channel: ChannelName) -> Int { envelope.length(for: channel) }

    /// Appends the message to the subscribers of `channel`.
    public func appendEnvelope(for channel: ChannelName, to bytes: inout [UInt8]) {
        envelope.append(for: channel, to: &bytes)
    }
}
