import RESP

/// The calls of one node on one partition.
///
/// Each returns the call that the reply refers to: `PublishOutcome` for each message, ``Registration``, ``Heartbeat``,
/// ``ChannelAttachment``, ``ChannelDetachment``.
public struct PartitionCalls: Sendable {
    /// The partition's keys.
    public let keys: PartitionKeys
    /// The scripts.
    public let scripts: ClusterScripts
    /// The node's name.
    public let node: String

    /// What a subscription needs to know of its channel.
    public struct Interests: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Makes a set of its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The channel is recoverable: the positions of its newest and oldest message.
        public static let position = Interests(rawValue: 1)
        /// A subscriber tracks its position: a stream is begun if there is none.
        public static let stream = Interests(rawValue: 2)
        /// The cached event.
        public static let cachedEvent = Interests(rawValue: 4)
        /// The members.
        public static let members = Interests(rawValue: 8)

        var flags: String {
            (contains(.position) ? "r" : "") + (contains(.stream) ? "t" : "")
                + (contains(.cachedEvent) ? "k" : "") + (contains(.members) ? "p" : "")
        }
    }

    /// Makes the calls of a node.
    public init(node: String, keys: PartitionKeys, scripts: ClusterScripts) {
        self.node = node
        self.keys = keys
        self.scripts = scripts
    }

    /// Makes the node known, and begins an epoch if the process is another than before.
    ///
    /// - Parameters:
    ///   - runID: The process; if it is hidden, a text that no other connection has.
    ///   - known: The newest stream that the node knows of earlier epochs; 0 if it knows none, or if the process is the
    ///     one that it knows.
    ///   - acknowledgement: How publishes are acknowledged.
    ///   - connection: The connection to call on.
    /// - Returns: The call.
    /// - Throws: The reason why nothing was sent.
    public func register(
        runID: String,
        known: UInt64,
        _ acknowledgement: Acknowledgement,
        on connection: RedisConnection
    ) throws(RedisCallError) -> CallID {
        try connection.evaluate(scripts.register, keyCount: 4, argumentCount: 5) { writer in
            writer.argument(keys.epoch)
            writer.argument(keys.nodes)
            writer.argument(keys.items(of: node))
            writer.argument(keys.counter)
            writer.argument(node)
            writer.argument(runID)
            writer.argument(Int(known))
            writer.argument(acknowledgement.rawValue)
            writer.argument(ClusterScripts.layout)
        }
    }

    /// Renews the node, and its leadership.
    ///
    /// - Parameters:
    ///   - lease: The time after which a node without a heartbeat is dead, in milliseconds.
    ///   - acknowledgement: How publishes are acknowledged from now on.
    ///   - connection: The connection to call on.
    /// - Returns: The call.
    /// - Throws: The reason why nothing was sent.
    public func heartbeat(
        lease: Int,
        _ acknowledgement: Acknowledgement,
        on connection: RedisConnection
    ) throws(RedisCallError) -> CallID {
        try connection.evaluate(scripts.heartbeat, keyCount: 5, argumentCount: 3) { writer in
            writer.argument(keys.epoch)
            writer.argument(keys.nodes)
            writer.argument(keys.items(of: node))
            writer.argument(keys.counter)
            writer.argument(keys.leader)
            writer.argument(node)
            writer.argument(lease)
            writer.argument(acknowledgement.rawValue)
        }
    }

    /// Publishes messages in their order.
    ///
    /// - Parameters:
    ///   - messages: At most ``ClusterScripts/messageCountMax``.
    ///   - opens: Whether to use the channels' current streams, whichever the messages name.
    ///   - connection: The connection to call on.
    /// - Returns: The call.
    /// - Throws: The reason why nothing was sent.
    public func publish(
        _ messages: some Collection<ClusterMessage>,
        opens: Bool = false,
        on connection: RedisConnection
    ) throws(RedisCallError) -> CallID {
        precondition(messages.count <= ClusterScripts.messageCountMax, "\(messages.count) messages")
        return try connection.evaluate(
            opens ? scripts.open : scripts.publish,
            keyCount: 2 + messages.reduce(0) { $0 + $1.keyCount },
            argumentCount: messages.reduce(0) { $0 + $1.argumentCount }
        ) { writer in
            writer.argument(keys.counter)
            writer.argument(keys.epoch)
            for message in messages { message.writeKeys(of: keys, to: &writer) }
            for message in messages { message.writeArguments(to: &writer) }
        }
    }

    /// Sets the number of the node's subscriptions to a channel.
    ///
    /// - Parameters:
    ///   - channel: The channel, to whose announcements the node is subscribed.
    ///   - count: The number of subscriptions, at least 1.
    ///   - interests: What to read.
    ///   - connection: The connection to call on.
    /// - Returns: The call.
    /// - Throws: The reason why nothing was sent.
    public func attach(
        to channel: ClusterChannel,
        count: Int,
        _ interests: Interests,
        on connection: RedisConnection
    ) throws(RedisCallError) -> CallID {
        try connection.evaluate(scripts.attach, keyCount: 8, argumentCount: 5) { writer in
            writer.argument(keys.epoch)
            writer.argument(keys.items(of: node))
            writer.argument(keys.subscriptions(channel))
            writer.argument(keys.occupied(channel.app))
            writer.argument(keys.messages(channel))
            writer.argument(keys.announcements(channel))
            writer.argument(keys.cachedEvent(channel))
            writer.argument(keys.memberInfos(channel))
            writer.argument(node)
            writer.argument(channel.item)
            writer.argument(channel.name)
            writer.argument(count)
            writer.argument(interests.flags)
        }
    }

    /// Removes the node's subscriptions to a channel.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - connection: The connection to call on.
    /// - Returns: The call.
    /// - Throws: The reason why nothing was sent.
    public func detach(
        from channel: ClusterChannel,
        on connection: RedisConnection
    ) throws(RedisCallError) -> CallID {
        try connection.evaluate(scripts.detach, keyCount: 3, argumentCount: 3) { writer in
            writer.argument(keys.items(of: node))
            writer.argument(keys.subscriptions(channel))
            writer.argument(keys.occupied(channel.app))
            writer.argument(node)
            writer.argument(channel.item)
            writer.argument(channel.name)
        }
    }
}
