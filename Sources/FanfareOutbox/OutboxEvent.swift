/// An event in an outbox, where it stays until the broker has accepted it.
public struct OutboxEvent: Sendable, Hashable {
    /// The idempotency key, at most 128 characters; the broker publishes the event once even if it is sent several
    /// times.
    public var key: String
    /// The event's name.
    public var name: String
    /// The channel's name.
    public var channel: String
    /// The data as subscribers receive it.
    public var data: String

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - key: The idempotency key, unique among the events of an app.
    ///   - name: The event's name.
    ///   - channel: The channel's name.
    ///   - data: The data as subscribers receive it.
    public init(key: String, name: String, channel: String, data: String) {
        self.key = key
        self.name = name
        self.channel = channel
        self.data = data
    }
}
