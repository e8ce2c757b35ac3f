/// What a broker tells a backend about its channels, verified.
public struct Webhook: Hashable, Sendable {
    /// When it was made, in milliseconds since 1970.
    public let milliseconds: Int64
    /// What has happened, in order.
    public let events: [WebhookEvent]
}

/// What has happened on a channel.
public enum WebhookEvent: Hashable, Sendable {
    /// The channel has its first subscriber.
    case channelOccupied(channel: String)
    /// The channel has no subscriber any more, for three seconds.
    case channelVacated(channel: String)
    /// A user has joined a presence channel, with the first of their connections.
    case memberAdded(channel: String, userID: String)
    /// A user has left a presence channel, with all their connections and for three seconds.
    case memberRemoved(channel: String, userID: String)
    /// A client has sent an event to the others on its channel.
    case clientEvent(ClientEvent)
    /// Somebody has joined a cache channel that has no event.
    case cacheMiss(channel: String)
    /// The channel has another number of subscribers.
    case subscriptionCount(channel: String, count: Int)
    /// Something that this version does not know, or that lacks what it should have; `json` is all of it.
    case unknown(name: String, json: String)

    /// An event that a client has sent.
    public struct ClientEvent: Hashable, Sendable {
        /// The channel.
        public var channel: String
        /// The event's name, which begins with `client-`.
        public var event: String
        /// The data; on an encrypted channel it is sealed.
        public var data: String?
        /// The connection that has sent it.
        public var socketID: String
        /// The user who has sent it, on a presence channel.
        public var userID: String?

        /// Takes the parts of an event.
        ///
        /// - Parameters:
        ///   - channel: The channel.
        ///   - event: The event's name.
        ///   - data: The data.
        ///   - socketID: The connection that has sent it.
        ///   - userID: The user who has sent it, on a presence channel.
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
