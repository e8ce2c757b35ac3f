public import PusherProtocol

/// An effect of a request to a channel's home, which the caller has to perform.
///
/// Large payloads are indirect: nearly every subscription has one effect, the grant.
public enum ChannelEffect: Sendable {
    /// Send the grant to the subscriber's shard, after everything that was fanned out before.
    case grant(Grant)
    /// Refuse the subscription: the channel has `membersMax` members.
    case refuse(membersMax: Int)
    /// Send a notice to all subscribers, in order with the channel's events.
    ///
    /// It may wait up to `delayMax` milliseconds for other notices, to share their sends.
    indirect case fanOut(ServerMessage, delayMax: Int)
    /// Report to the observers.
    case notify(ChannelEvent)
    /// Count that a limit was reached.
    case limitMet(Limit)

    /// The grant of a subscription.
    public struct Grant: Sendable {
        /// The first message after the acknowledgement, before live events.
        public enum Opening: Sendable {
            /// Nothing.
            case live
            /// The last event of a cache channel.
            indirect case cached(Publication)
            /// The notice that a cache channel holds no event.
            case cacheMiss
        }

        /// The members of a presence channel, including the subscriber; empty on any other.
        public let members: [Member]
        /// The first message after the acknowledgement.
        public let opening: Opening
        /// Where the subscription begins, if the client tracks its position or gets earlier messages.
        public let replay: Replay?
        /// Whether the subscription has a position: kept by the client, or for its session token by the broker.
        public let hasPosition: Bool
    }
}
