// Subscriptions and members of channels.
extension PartitionCalls {
    /// What a subscription needs to know of its channel.
    public struct Interests: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Makes a set of its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A subscriber tracks its position: a stream is begun if there is none.
        public static let stream = Interests(rawValue: 1)
        /// The cached event.
        public static let cachedEvent = Interests(rawValue: 2)
        /// The members.
        public static let members = Interests(rawValue: 4)

        var flags: String {
            (contains(.stream) ? "t" : "") + (contains(.cachedEvent) ? "k" : "")
                + (contains(.members) ? "p" : "")
        }
    }

    /// Sets the number of the node's subscriptions to a channel.
    ///
    /// - Parameters:
    ///   - channel: The channel, to whose announcements the node is subscribed.
    ///   - count: The number of subscriptions, at least 1.
    ///   - interests: What to read.
    ///   - rules: The channel's rules.
    /// - Returns: The call; the reply is a ``ChannelAttachment``.
    public func attach(
        to channel: ClusterChannel,
        count: Int,
        _ interests: Interests,
        _ rules: ChannelRules = .init()
    ) -> ScriptCall {
        precondition(count > 0, "an attached channel has subscriptions")
        return ScriptCall(
            scripts.attach,
            [
                keys.epoch, keys.items(of: node), keys.subscriptions(channel),
                keys.occupied(channel.app), keys.messages(channel), keys.announcements(channel),
                keys.cachedEvents(channel.app), keys.cachedEventExpiries(channel.app),
                keys.memberInfos(channel), keys.due, keys.webhooks, keys.countNotice(channel),
                keys.cacheMiss(channel), keys.counter,
            ],
            [
                .text(node), .text(channel.id), .number(count),
                .text(interests.flags + rules.flags),
            ]
        )
    }

    /// Removes the node's subscriptions to a channel, on which it has no members any more.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - rules: The channel's rules.
    /// - Returns: The call; the reply is a ``ChannelDetachment``.
    public func detach(from channel: ClusterChannel, _ rules: ChannelRules = .init()) -> ScriptCall
    {
        ScriptCall(
            scripts.detach,
            detachKeys(channel, of: node),
            [.text(node), .text(channel.id), .text(rules.flags)]
        )
    }

    private func detachKeys(_ channel: ClusterChannel, of node: String) -> [RedisKey] {
        [
            keys.epoch, keys.items(of: node), keys.subscriptions(channel),
            keys.occupied(channel.app), keys.announcements(channel), keys.due, keys.webhooks,
            keys.countNotice(channel), keys.users(of: node, on: channel),
        ]
    }

    /// Makes a user a member of a channel, to which the node is attached.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - user: The user's ID.
    ///   - info: The user's info, which counts if the user is no member yet.
    ///   - membersMax: The most members.
    ///   - rules: The channel's rules.
    /// - Returns: The call; the reply is a ``MemberArrival``.
    public func join(
        _ channel: ClusterChannel,
        as user: String,
        info: [UInt8],
        membersMax: Int,
        _ rules: ChannelRules = .init()
    ) -> ScriptCall {
        ScriptCall(
            scripts.join,
            [
                keys.epoch, keys.items(of: node), keys.subscriptions(channel),
                keys.announcements(channel), keys.due, keys.webhooks,
                keys.users(of: node, on: channel), keys.members(channel), keys.memberInfos(channel),
            ],
            [
                .text(node), .text(channel.id), .text(rules.flags), .text(user), .bytes(info),
                .number(membersMax),
            ]
        )
    }

    /// Ends the membership of a user on the node.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - user: The user's ID.
    ///   - rules: The channel's rules.
    /// - Returns: The call; the reply is a ``MemberDeparture``.
    public func leave(
        _ channel: ClusterChannel,
        as user: String,
        _ rules: ChannelRules = .init()
    ) -> ScriptCall {
        ScriptCall(
            scripts.leave,
            [
                keys.items(of: node), keys.announcements(channel), keys.due,
                keys.users(of: node, on: channel), keys.members(channel), keys.memberInfos(channel),
            ],
            [.text(node), .text(channel.id), .text(rules.flags), .text(user)]
        )
    }

    /// Removes a channel from a node that has ended, or from the node itself what is out of date.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - other: The node.
    ///   - rules: The channel's rules.
    /// - Returns: The call; the reply is a ``Reaping``.
    public func reap(
        _ channel: ClusterChannel,
        of other: String,
        _ rules: ChannelRules = .init()
    ) -> ScriptCall {
        ScriptCall(
            scripts.reap,
            detachKeys(channel, of: other) + [keys.members(channel), keys.memberInfos(channel)],
            [.text(other), .text(channel.id), .text(rules.flags), .text(node)]
        )
    }
}
