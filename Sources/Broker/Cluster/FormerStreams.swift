public import PusherProtocol

/// What a client has missed of streams that were sealed, and where the present stream of the channel follows them with
/// nothing in between.
///
/// In a cluster, behind a failover in which nothing was lost.
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
        /// Where the client stands.
        public let position: ChannelPosition
        /// The messages behind that, up to the last one.
        public var messages: [StoredMessage]

        /// Creates the end of a stream.
        public init(behind position: ChannelPosition, _ messages: [StoredMessage] = []) {
            self.position = position
            self.messages = messages
        }

        /// The replay of these messages.
        ///
        /// - Parameters:
        ///   - issued: The position in the form for the client.
        ///   - socketIDs: The client's connections: messages that exclude one are left out.
        /// - Returns: The replay.
        func replay(at issued: ChannelPosition, for socketIDs: [SocketID]) -> FormerReplay {
            let replayed = ArchivedMessages(messages)
                .replayed(from: 0, before: .max, for: socketIDs)
            let start = SubscriptionStart(issued, .recovered(replay: replayed.count))
            return FormerReplay(start: start, messages: replayed)
        }
    }
}

/// What a client gets of a stream that was sealed, ahead of the acknowledgement that names the present one.
public struct FormerReplay: Sendable, Equatable {
    /// Where the client stands in that stream.
    public let start: SubscriptionStart
    /// The rest of the stream.
    public let messages: [ReplayedMessage]
}
