/// An event that a client sends to the others on its channel.
public struct ClientEvent: Equatable, Sendable {
    /// The event's name as a JSON string, quotes included.
    public var nameToken: [UInt8]
    /// The channel as the client names it; whether it is subscribed is the broker's to say.
    public var channel: String
    /// The data as a JSON string, quotes included; what was no string has been made one.
    ///
    /// `nil` when the client sent none.
    public var dataToken: [UInt8]?

    /// Takes the parts of an event as they are, unchecked.
    ///
    /// - Parameters:
    ///   - nameToken: The event's name as a JSON string, quotes included.
    ///   - channel: The channel's name.
    ///   - dataToken: The data as a JSON string, quotes included.
    public init(nameToken: [UInt8], channel: String, dataToken: [UInt8]?) {
        self.nameToken = nameToken
        self.channel = channel
        self.dataToken = dataToken
    }

    /// The event's name, decoded; for logs and webhooks.
    public var name: String { EventEnvelope.decode(nameToken) }

    /// The data, decoded; for logs and webhooks.
    public var data: String? { dataToken.map(EventEnvelope.decode) }

    /// Counts the bytes of the message to the other subscribers.
    ///
    /// - Parameters:
    ///   - channel: The channel, which the sender has joined.
    ///   - userID: The member who sends, on a presence channel, as a JSON string with its quotes.
    /// - Returns: The length, in bytes.
    public func envelopeLength(for channel: ChannelName, userID: [UInt8]? = nil) -> Int {
        envelope(from: userID).length(for: channel)
    }

    /// Appends the message to the other subscribers.
    ///
    /// - Parameters:
    ///   - channel: The channel, which the sender has joined.
    ///   - userID: The member who sends, on a presence channel, as a JSON string with its quotes.
    ///   - bytes: What it is appended to.
    public func appendEnvelope(
        for channel: ChannelName,
        userID: [UInt8]? = nil,
        to bytes: inout [UInt8]
    ) {
        envelope(from: userID).append(for: channel, to: &bytes)
    }

    private func envelope(from userID: [UInt8]?) -> EventEnvelope {
        var envelope = EventEnvelope(name: nameToken.span)
        if let dataToken { envelope.add(#","data":"#, dataToken.span) }
        if let userID { envelope.add(#","user_id":"#, userID.span) }
        return envelope
    }
}
