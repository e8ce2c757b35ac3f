import Primitives

/// An event that a client sends to the other subscribers of a channel.
public struct ClientEvent: Equatable, Sendable {
    /// The event's name as a JSON string, including quotes.
    public var nameToken: [UInt8]
    /// The channel's name as received; the broker checks that the client is subscribed.
    public var channel: String
    /// The data as a JSON string, including quotes; other values are converted to a string of their JSON text.
    ///
    /// `nil` when the client sent none.
    public var dataToken: [UInt8]?
    /// The key under which the client may repeat the event, and gets a receipt for it; `nil` for no key.
    public var key: IdempotencyKey?

    /// Creates an event from JSON strings, including quotes; the parts are not validated.
    public init(
        nameToken: [UInt8],
        channel: String,
        dataToken: [UInt8]?,
        key: IdempotencyKey? = nil
    ) {
        self.nameToken = nameToken
        self.channel = channel
        self.dataToken = dataToken
        self.key = key
    }

    /// A digest of the event, by which a repetition is distinguished from another event under the same key.
    public var digest: UInt64 { envelope(from: nil).digest }

    /// The event's name, decoded; for logs and webhooks.
    public var name: String { EventEnvelope.decode(nameToken) }

    /// The data, decoded; for logs and webhooks.
    public var data: String? { dataToken.map(EventEnvelope.decode) }

    /// Returns the length of the message to the other subscribers, in bytes.
    ///
    /// - Parameters:
    ///   - channel: The channel, to which the sender is subscribed.
    ///   - userID: On a presence channel, the sender's user id as a JSON string, including quotes.
    ///   - serial: The number of the message in the channel's stream; 0 if it has none.
    /// - Returns: The length.
    public func envelopeLength(
        for channel: ChannelName,
        userID: [UInt8]? = nil,
        serial: UInt64 = 0
    ) -> Int {
        envelope(from: userID).length(for: channel, serial: serial)
    }

    /// Appends the message to the other subscribers.
    ///
    /// - Parameters:
    ///   - channel: The channel, to which the sender is subscribed.
    ///   - userID: On a presence channel, the sender's user id as a JSON string, including quotes.
    ///   - serial: The number of the message in the channel's stream; 0 if it has none.
    ///   - bytes: The buffer.
    public func appendEnvelope(
        for channel: ChannelName,
        userID: [UInt8]? = nil,
        serial: UInt64 = 0,
        to bytes: inout [UInt8]
    ) {
        envelope(from: userID).append(for: channel, serial: serial, to: &bytes)
    }

    private func envelope(from userID: [UInt8]?) -> EventEnvelope {
        var envelope = EventEnvelope(name: nameToken.span)
        if let dataToken { envelope.add(#","data":"#, dataToken.span) }
        if let userID { envelope.add(#","user_id":"#, userID.span) }
        return envelope
    }
}
