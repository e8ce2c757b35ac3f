/// The calls of one node on one partition.
///
/// Each is a value to send on a connection to the partition's server, and names the type that reads its reply.
/// ``RedisError/init(_:)`` reads an error in place of a reply; `FENCED` means that the node has to be registered again.
public struct PartitionCalls: Sendable {
    /// The partition's keys.
    public let keys: PartitionKeys
    /// The scripts.
    public let scripts: ClusterScripts
    /// The node's name, without white space, different after each start of the process.
    public let node: String

    /// Makes the calls of a node.
    public init(node: String, keys: PartitionKeys, scripts: ClusterScripts) {
        self.node = node
        self.keys = keys
        self.scripts = scripts
    }

    // MARK: Nodes and epochs

    /// Registers the node, and begins an epoch if the server's data may differ from before.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - known: The newest stream that the node knows; 0 if it knows none, or if the process is the one that it
    ///     knows.
    ///   - acknowledgement: How publishes are acknowledged.
    ///   - epoch: The epoch that the node knows; nil if it knows none.
    ///   - origin: The process of the server that has reported that the partition's slot has moved away from it; nil if
    ///     none has.
    /// - Returns: The call; the reply is a ``Registration``.
    public func register(
        with server: ServerIdentity,
        known: UInt64,
        _ acknowledgement: Acknowledgement,
        in epoch: Epoch? = nil,
        movedFrom origin: String? = nil
    ) -> ScriptCall {
        ScriptCall(
            scripts.register,
            [keys.epoch, keys.nodes, keys.items(of: node), keys.counter],
            [
                .text(node), .text(server.run), .text(server.replication),
                .text(server.formerReplication), .number(Int(server.startedAt)),
                .number(Int(known)), .text(acknowledgement.rawValue),
                .number(ClusterScripts.layout), .number(Int(clamping: epoch?.since ?? 0)),
                .text(origin ?? ""), .number(Int(server.configurationEpoch)),
            ]
        )
    }

    /// Renews the node, and renews or gives up its leadership.
    ///
    /// - Parameters:
    ///   - lease: The time after which a node without a heartbeat is dead, in milliseconds.
    ///   - acknowledgement: How publishes are acknowledged from now on.
    ///   - mayLead: Whether the node takes a vacant leadership and keeps its own.
    /// - Returns: The call; the reply is a ``Heartbeat``.
    public func heartbeat(
        lease: Int,
        _ acknowledgement: Acknowledgement,
        mayLead: Bool = true
    ) -> ScriptCall {
        ScriptCall(
            scripts.heartbeat,
            [keys.epoch, keys.nodes, keys.items(of: node), keys.counter, keys.leader],
            [
                .text(node), .number(lease), .text(acknowledgement.rawValue),
                .number(mayLead ? 1 : 0),
            ]
        )
    }

    /// Claims a number for the node that no other node of the deployment has, or renews it.
    ///
    /// Call it on one partition only, and several times within the lifetime.
    ///
    /// - Parameters:
    ///   - former: The number that the node has; 0 if it has none.
    ///   - lifetime: How long a number is reserved without a renewal, in milliseconds.
    /// - Returns: The call; the reply is the number, from 1 to 1,023, or 0 if all are taken.
    public func claimNumber(former: Int, lifetime: Int) -> ScriptCall {
        ScriptCall(
            scripts.number,
            [keys.nodeNumbers, keys.nodeNumberRenewals],
            [.text(node), .number(former), .number(lifetime)]
        )
    }

    /// Ends a node whose lease has expired, or the calling node when it stops, and lists the node's remaining items.
    ///
    /// Call ``reap(_:of:_:)`` or ``reap(_:of:)`` for each item, and then this call again, until nothing is left.
    ///
    /// - Parameters:
    ///   - other: The ended node.
    ///   - lease: The time after which a node without a heartbeat is dead, in milliseconds.
    /// - Returns: The call; the reply is a ``Condemnation``.
    public func condemn(_ other: String, lease: Int) -> ScriptCall {
        ScriptCall(
            scripts.condemn,
            [keys.nodes, keys.items(of: other), keys.leader, keys.reaper(of: other)],
            [.text(other), .number(lease), .text(node)]
        )
    }

    // MARK: Messages

    /// Publishes messages in their order.
    ///
    /// - Parameters:
    ///   - messages: At most ``ClusterScripts/messageCountMax``.
    ///   - opens: Whether to use the channels' current streams, whatever streams the messages name.
    /// - Returns: The call; each element of the reply is a ``PublishOutcome``.
    public func publish(
        _ messages: some Collection<ClusterMessage>,
        opens: Bool = false
    ) -> ScriptCall {
        scripts.publishing([PartitionMessages(keys, Array(messages))], opens: opens)
    }

    /// Finds the current stream of a channel, or begins one.
    ///
    /// The reply is the position of the last message, read by ``StreamPosition/init(_:)-(RESPView)``.
    public func beginStream(
        of channel: ClusterChannel,
        _ rules: ChannelRules = .init()
    ) -> ScriptCall {
        ScriptCall(
            scripts.begin,
            [keys.epoch, keys.messages(channel), keys.announcements(channel), keys.due, keys.kept],
            [.number(rules.positionsMax)]
        )
    }

    /// Removes a channel's messages and its cached event, and begins another stream; if there is none, only if it
    /// `begins`.
    ///
    /// The reply is read by ``StreamPosition/init(_:)-(RESPView)``, and null without a stream.
    public func purge(
        _ channel: ClusterChannel,
        begins: Bool,
        _ rules: ChannelRules = .init()
    ) -> ScriptCall {
        ScriptCall(
            scripts.purge,
            [
                keys.epoch, keys.messages(channel), keys.announcements(channel), keys.due,
                keys.cachedEvents(channel.app), keys.cachedEventExpiries(channel.app), keys.kept,
            ],
            [.text(channel.id), .number(begins ? 1 : 0), .number(rules.positionsMax)]
        )
    }

    /// Reads the newest positions of channels, to compare them with what was received, and renews their streams.
    ///
    /// - Parameter channels: At most ``ClusterScripts/messageCountMax``.
    /// - Returns: The call; the reply is ``StreamPositions``.
    public func positions(of channels: [ClusterChannel]) -> ScriptCall {
        precondition(channels.count <= ClusterScripts.messageCountMax, "\(channels.count) channels")
        return ScriptCall(scripts.positions, [keys.epoch] + channels.map { keys.messages($0) }, [])
    }
}
