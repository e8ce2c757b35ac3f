public import PusherProtocol

/// The messages of sealed streams that a client has missed, and the point at which the present stream follows without a
/// gap.
///
/// In a cluster, streams are sealed after a failover in which nothing was lost.
public struct FormerStreams: Sendable {
    /// The streams with messages that the client has missed, in their order.
    public var streams: [Stream]
    /// The beginning of the present stream.
    public let start: ChannelPosition

    /// Creates a list.
    public init(_ streams: [Stream] = [], ahead start: ChannelPosition) {
        self.streams = streams
        self.start = start
    }

    /// The end of one stream.
    public struct Stream: Sendable {
        /// The client's position.
        public let position: ChannelPosition
        /// The messages after that position, up to the last one.
        public var messages: [StoredMessage]

        /// Creates the end of a stream.
        public init(behind position: ChannelPosition, _ messages: [StoredMessage] = []) {
            self.position = position
            self.messages = messages
        }

        /// The replay of these messages, without those that exclude one of the client's connections.
        ///
        /// `issued` is the position in the form for the client.
        func replay(at issued: ChannelPosition, for socketIDs: [SocketID]) -> FormerReplay {
            let replayed = ArchivedMessages(messages)
                .replayed(from: 0, before: .max, for: socketIDs)
            let start = SubscriptionStart(issued, .recovered(replay: replayed.count))
            return FormerReplay(start: start, messages: replayed)
        }
    }
}

/// The messages of a sealed stream that a client gets before the acknowledgement that names the present stream.
public struct FormerReplay: Sendable, Equatable {
    /// The client's position in that stream.
    public let start: SubscriptionStart
    /// The rest of the stream.
    public let messages: [ReplayedMessage]
}
