/// A verified webhook with events on an app's channels.
public struct Webhook: Hashable, Sendable {
    /// The time of creation, in milliseconds since 1970.
    public let milliseconds: Int64
    /// The events, in order.
    public let events: [WebhookEvent]
}

/// An event on a channel.
public enum WebhookEvent: Hashable, Sendable {
    /// The channel has its first subscriber.
    case channelOccupied(channel: String)
    /// The channel has had no subscriber for three seconds.
    case channelVacated(channel: String)
    /// A user has joined a presence channel with the first connection.
    case memberAdded(channel: String, userID: String)
    /// A user has had no connection on a presence channel for three seconds.
    case memberRemoved(channel: String, userID: String)
    /// A client has sent a client event.
    case clientEvent(ClientEvent)
    /// A client has subscribed to a cache channel whose cache is empty.
    case cacheMiss(channel: String)
    /// The number of subscribed connections has changed.
    case subscriptionCount(channel: String, count: Int)
    /// An unknown or incomplete event; `json` is its whole text.
    case unknown(name: String, json: String)

    /// A client event.
    public struct ClientEvent: Hashable, Sendable {
        /// The channel.
        public var channel: String
        /// The event's name, which begins with `client-`.
        public var event: String
        /// The data; encrypted on an encrypted channel.
        public var data: String?
        /// The sender's socket ID.
        public var socketID: String
        /// The sender's user ID, on a presence channel.
        public var userID: String?

        /// Creates a client event.
        ///
        /// - Parameters:
        ///   - channel: The channel.
        ///   - event: The event's name.
        ///   - data: The data.
        ///   - socketID: The sender's socket ID.
        ///   - userID: The sender's user ID, on a presence channel.
        public init(
            channel: String,
            event: String,
            data: String?,
            socketID: String,
            userID: String? = nil
        ) {
            self.channel = channel
            self.event = event
            self.data = data
            self.socketID = socketID
            self.userID = userID
        }
    }
}
