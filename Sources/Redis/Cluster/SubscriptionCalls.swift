import Primitives
import RESP

// Subscriptions and members of channels.
extension PartitionCalls {
    /// What a subscription needs to know about its channel.
    public struct Interests: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Makes a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A subscriber tracks its position; a stream begins if there is none.
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

    /// The subscriptions of the node to a channel.
    public struct Subscriptions: Sendable {
        /// The channel, to whose announcements the node is subscribed.
        public var channel: ClusterChannel
        /// The number of subscriptions, at least 1.
        public var count: Int
        /// The data to read.
        public var interests: Interests
        /// The channel's rules.
        public var rules: ChannelRules

        /// Makes the subscriptions to a channel.
        public init(
            to channel: ClusterChannel,
            count: Int,
            _ interests: Interests,
            _ rules: ChannelRules = .init()
        ) {
            precondition(count > 0, "an attached channel has subscriptions")
            self.channel = channel
            self.count = count
            self.interests = interests
            self.rules = rules
        }

        // The script uses a stream, announcements and a notice only for some flags.
        private var hasMessages: Bool {
            interests.contains(.stream) || rules.isRecoverable || rules.announcesCount
                || rules.webhooks.contains(.counts)
        }

        fileprivate var keyCount: Int {
            2 + (hasMessages ? 3 : 0) + (interests.contains(.cachedEvent) ? 3 : 0)
                + (interests.contains(.members) ? 1 : 0)
        }

        fileprivate func writeKeys(of partition: PartitionKeys, to writer: inout RESPWriter) {
            writer.argument(partition.subscriptions(channel))
            writer.argument(partition.occupied(channel.app))
            if hasMessages {
                writer.argument(partition.messages(channel))
                writer.argument(partition.announcements(channel))
                writer.argument(partition.countNotice(channel))
            }
            if interests.contains(.cachedEvent) {
                writer.argument(partition.cachedEvents(channel.app))
                writer.argument(partition.cachedEventExpiries(channel.app))
                writer.argument(partition.cacheMiss(channel))
            }
            if interests.contains(.members) { writer.argument(partition.memberInfos(channel)) }
        }

        fileprivate func writeArguments(to writer: inout RESPWriter) {
            writer.argument(channel.id)
            writer.argument(count)
            writer.argument(interests.flags + rules.flags)
        }
    }

    /// Sets the numbers of the node's subscriptions to channels.
    ///
    /// - Parameter channels: At most ``ClusterScripts/messageCountMax``.
    /// - Returns: The call; the reply is read by ``ChannelAttachment/all(_:)``.
    public func attach(to channels: [Subscriptions]) -> ScriptCall {
        precondition(channels.count <= ClusterScripts.messageCountMax, "\(channels.count) channels")
        return ScriptCall(
            scripts.attach,
            keyCount: 6 + channels.reduce(0) { $0 + $1.keyCount },
            argumentCount: 1 + 3 * channels.count
        ) { writer in
            writer.argument(keys.epoch)
            writer.argument(keys.items(of: node))
            writer.argument(keys.due)
            writer.argument(keys.webhooks)
            writer.argument(keys.counter)
            writer.argument(keys.kept)
            for channel in channels { channel.writeKeys(of: keys, to: &writer) }
            writer.argument(node)
            for channel in channels { channel.writeArguments(to: &writer) }
        }
    }

    /// Removes the node's subscriptions to a channel without members of the node; the reply is a ``ChannelDetachment``.
    ///
    /// The last one has ended this long ago.
    public func detach(
        from channel: ClusterChannel,
        _ rules: ChannelRules = .init(),
        since elapsed: Duration = .zero
    ) -> ScriptCall {
        ScriptCall(
            scripts.detach,
            detachKeys(channel, of: node),
            [
                .text(node), .text(channel.id), .text(rules.flags), .number(rules.positionsMax),
                .number(Int(elapsed.wholeMilliseconds)),
            ]
        )
    }

    private func detachKeys(_ channel: ClusterChannel, of node: String) -> [RedisKey] {
        [
            keys.epoch, keys.items(of: node), keys.subscriptions(channel),
            keys.occupied(channel.app), keys.announcements(channel), keys.due, keys.webhooks,
            keys.countNotice(channel), keys.users(of: node, on: channel), keys.kept,
            keys.messages(channel),
        ]
    }

    /// Makes a user a member of a channel to which the node is attached; the reply is a ``MemberArrival``.
    ///
    /// The info is used if the user is not a member yet. The channel has at most `membersMax` members.
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

    /// Ends the membership of a user on the node; the reply is a ``MemberDeparture``.
    ///
    /// The user's last connection has left this long ago.
    public func leave(
        _ channel: ClusterChannel,
        as user: String,
        _ rules: ChannelRules = .init(),
        since elapsed: Duration = .zero
    ) -> ScriptCall {
        ScriptCall(
            scripts.leave,
            [
                keys.items(of: node), keys.announcements(channel), keys.due,
                keys.users(of: node, on: channel), keys.members(channel), keys.memberInfos(channel),
            ],
            [
                .text(node), .text(channel.id), .text(rules.flags), .text(user),
                .number(Int(elapsed.wholeMilliseconds)),
            ]
        )
    }

    /// Removes a channel from a node that has ended, or outdated data of the node itself; the reply is a ``Reaping``.
    public func reap(
        _ channel: ClusterChannel,
        of other: String,
        _ rules: ChannelRules = .init()
    ) -> ScriptCall {
        ScriptCall(
            scripts.reap,
            detachKeys(channel, of: other) + [keys.members(channel), keys.memberInfos(channel)],
            [
                .text(other), .text(channel.id), .text(rules.flags), .number(rules.positionsMax),
                .text(node),
            ]
        )
    }
}
