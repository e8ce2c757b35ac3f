// The tasks of the leader of a partition.
extension PartitionCalls {
    /// Executes due work, and reads webhooks; for the leader, every second.
    ///
    /// - Parameter last: The last webhook that was read; nil after the node has become the leader.
    /// - Returns: The call; the reply is ``DueWork``.
    public func timers(after last: StreamPosition?) -> ScriptCall {
        ScriptCall(
            scripts.timers,
            [keys.epoch, keys.leader, keys.due, keys.webhooks],
            [.text(node), .text((last ?? StreamPosition(stream: 0, serial: 0)).description)]
        )
    }

    /// Announces the number of subscriptions that was due; the reply is 1, or 0 if nothing was due.
    public func announceCount(of channel: ClusterChannel, _ rules: ChannelRules) -> ScriptCall {
        ScriptCall(
            scripts.count,
            [
                keys.epoch, keys.subscriptions(channel), keys.announcements(channel), keys.due,
                keys.webhooks, keys.countNotice(channel),
            ],
            [.text(channel.id), .text(rules.flags)]
        )
    }

    /// Removes old messages of a stream that was due, and renews the stream.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - age: The age of messages to remove, in milliseconds.
    ///   - interval: The time until the stream is due again, in milliseconds.
    ///   - rules: The channel's rules.
    /// - Returns: The call; the reply is the number of messages that are removed, or null if nothing was due.
    public func trim(
        _ channel: ClusterChannel,
        age: Int,
        interval: Int,
        _ rules: ChannelRules = .init()
    ) -> ScriptCall {
        ScriptCall(
            scripts.trim,
            [keys.messages(channel), keys.subscriptions(channel), keys.due, keys.kept],
            [
                .text(channel.id), .number(age), .number(interval), .number(rules.positionsMax),
            ]
        )
    }

    /// Announces that a user is offline, which was due; the reply is 1, or 0 if nothing was due.
    public func announceOffline(_ user: ClusterUser) -> ScriptCall {
        ScriptCall(scripts.offline, [keys.announcements(user), keys.due], [.text(user.text)])
    }

    /// Removes webhooks from the queue.
    ///
    /// - Parameters:
    ///   - delivered: Webhooks that were delivered.
    ///   - dead: Webhooks that were abandoned; the last 1,000 of them are kept.
    /// - Returns: The call; the reply is the number of removed webhooks.
    public func settle(delivered: [StreamPosition], dead: [StreamPosition] = []) -> ScriptCall {
        let arguments =
            delivered.flatMap { [.text("d"), .text($0.description)] }
            + dead.flatMap { [ScriptCall.Argument.text("x"), .text($0.description)] }
        return ScriptCall(scripts.settle, [keys.webhooks, keys.deadWebhooks], arguments)
    }

    /// Reads the amounts that the partition's pool keeps of apps; each node calls it regularly.
    ///
    /// - Parameter apps: The apps' IDs, at most ``ClusterScripts/messageCountMax``.
    /// - Returns: The call; the reply is ``KeptUses``.
    public func uses(of apps: [String]) -> ScriptCall {
        ScriptCall(scripts.uses, [keys.kept], apps.map { .text($0) })
    }
}
