import RESP

/// Messages of one partition, in their order.
public struct PartitionMessages: Sendable {
    /// The partition's keys.
    public let keys: PartitionKeys
    /// The messages.
    public let messages: [ClusterMessage]

    /// Makes a part of a call.
    public init(_ keys: PartitionKeys, _ messages: [ClusterMessage]) {
        self.keys = keys
        self.messages = messages
    }

    fileprivate var keyCount: Int { 5 + messages.reduce(0) { $0 + $1.keyCount } }
    fileprivate var argumentCount: Int { 1 + messages.reduce(0) { $0 + $1.argumentCount } }

    fileprivate func writeKeys(to writer: inout RESPWriter) {
        writer.argument(keys.counter)
        writer.argument(keys.epoch)
        writer.argument(keys.due)
        writer.argument(keys.webhooks)
        writer.argument(keys.kept)
        for message in messages { message.writeKeys(of: keys, to: &writer) }
    }

    fileprivate func writeArguments(to writer: inout RESPWriter) {
        writer.argument(messages.count)
        for message in messages { message.writeArguments(to: &writer) }
    }
}

extension ClusterScripts {
    /// Publishes messages of several partitions in one call, which costs Redis and the node hardly more than one
    /// message.
    ///
    /// - Parameters:
    ///   - parts: The messages, together at most ``messageCountMax``; all partitions are on the called server. In a
    ///     Redis Cluster only one partition is allowed, because the keys of a call have one slot there.
    ///   - opens: Whether to use the channels' current streams, whatever streams the messages name.
    /// - Returns: The call; each element of the reply is a ``PublishOutcome``.
    public func publishing(_ parts: [PartitionMessages], opens: Bool = false) -> ScriptCall {
        let count = parts.reduce(0) { $0 + $1.messages.count }
        precondition(count <= Self.messageCountMax, "\(count) messages")
        return ScriptCall(
            opens ? open : publish,
            keyCount: parts.reduce(0) { $0 + $1.keyCount },
            argumentCount: parts.reduce(0) { $0 + $1.argumentCount }
        ) { writer in
            for part in parts { part.writeKeys(to: &writer) }
            for part in parts { part.writeArguments(to: &writer) }
        }
    }
}
