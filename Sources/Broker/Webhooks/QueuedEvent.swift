/// An event that another queue, in a cluster Redis, keeps until its webhooks are delivered or abandoned.
///
/// The file does not store it. `WebhookSettings.settled` is called when the other queue may drop it. Until then it
/// may be sent again, under the same ID, also by another node.
public struct QueuedEvent: Sendable {
    /// The identity of an event, unique on all nodes and permanent.
    public struct ID: Hashable, Sendable, CustomStringConvertible {
        /// The number of the queue.
        public let queue: Int
        /// The event's place in the queue.
        public let stream: UInt64
        /// The event's place in the stream.
        public let serial: UInt64

        /// Creates the ID of an event.
        public init(queue: Int, stream: UInt64, serial: UInt64) {
            (self.queue, self.stream, self.serial) = (queue, stream, serial)
        }

        /// The ID in the `X-Fanfare-Webhook-ID` of its requests.
        public var description: String { "\(queue)-\(stream)-\(serial)" }
    }

    /// The content of an event.
    public enum Content: Sendable {
        /// An event other than a client's.
        case event(ChannelEvent)
        /// A client event, as written by ``WebhookBody/object(_:on:)``.
        case clientEvent([UInt8])
    }

    /// The event's identity.
    public let id: ID
    /// When it happened, in milliseconds since 1970; it is the `time_ms` of a request.
    public let time: Int64
    /// The channel.
    public let address: ChannelAddress
    /// The content.
    public let content: Content

    /// Creates an event.
    public init(id: ID, time: Int64, address: ChannelAddress, content: Content) {
        (self.id, self.time, self.address, self.content) = (id, time, address, content)
    }
}
