import Broker
import Net
import Primitives
import PusherProtocol
import Redis

/// A channel of this node in Redis: what the node has reported of its subscribers, and what it has received.
final class RemoteChannel {
    // The properties that change for all channels when the connection is lost come first, within 64 bytes, because most
    // channels are in no CPU cache.
    /// How much of what is published is received.
    private(set) var reception = Reception.detached
    /// Whether `SUBSCRIBE` was sent over the present connection.
    var isSubscribed = false
    /// Whether it waits in its store's queue to be attached or detached.
    var isQueued = false
    private let isPresence: Bool
    /// What the unanswered call of `attach` reads; `nil` if none is unanswered.
    var attaching: PartitionCalls.Interests?
    /// Its cost among the channels of its store that are catching up; 0 if it is none of them.
    var catchingUpCost = 0
    /// The number of subscriptions counted by Redis; 0 if the node is not attached.
    fileprivate(set) var countedSubscriptions = 0
    /// The number of its partition's counter up to which nothing was missed, as of when it was current.
    var counter: Int64 = -1

    let address: ChannelAddress
    let channel: ClusterChannel
    /// The index of its partition among those of the shard.
    let partition: Int
    /// The name of its pub/sub channel.
    let topic: String
    /// Its index among the channels of its partition.
    fileprivate var place = 0

    /// The position of the last message that was received; `nil` without a stream.
    var position: StreamPosition?
    /// The partition's epoch in which that was the position.
    var since: UInt64 = 0
    /// The newest position when it began to catch up.
    private(set) var newest: StreamPosition?
    /// The number of subscriptions on all nodes, as last reported by Redis; `nil` before that.
    var totalSubscriptions: Int?
    /// The number last sent to all subscribers of this node; `nil` if one of them was sent none.
    var toldTotal: Int?
    /// The subscriptions that wait for `attach`.
    var waiting = PendingSubscriptions()
    /// The subscriptions that wait for messages that are no longer in memory.
    var replaying = PendingSubscriptions()
    /// The cached event, as of the last `attach`.
    var cached: CachedEvent?
    /// The members on all nodes, of a presence channel.
    var members = SharedMembers()
    /// The users that this node has made members.
    var joined: Set<UserID> = []
    /// The subscriptions that wait for their users to become members.
    var joining = PendingSubscriptions()
    /// The users that were reported to Redis and are not members yet.
    ///
    /// A user whose connections have all left meanwhile is included until Redis has answered.
    private var arriving: Set<UserID> = []
    /// The new members whose arrival is about to be announced.
    var announced: Set<UserID> = []
    /// Whether Redis has refused to detach the node, because one of its users was still a member.
    var isDetachRefused = false
    /// Injected fault: messages that were published before the reply to `attach`.
    var early: [ChannelAnnouncement] = []
    /// Whether waiting subscriptions are being granted, because Redis has just answered.
    var isGranting = false
    /// Whether the next turns grant others; see ``SharedChannels/granting``.
    var isInGrants = false
    /// When the node has lost its last subscriber; messages are received for a while, because many subscribers return.
    var vacantSince: MonotonicTime?

    /// How much a channel has received of what is published.
    enum Reception {
        /// Nothing: pushed messages are part of what the first `attach` reads.
        case detached
        /// Everything.
        case current
        /// Some messages may be missing; pushed messages are part of what is read afterwards.
        case behind(Missing)
        /// The missing messages are being read.
        case catchingUp(Missing)
    }

    /// What is known of the messages that a channel may have missed.
    struct Missing {
        /// Whether the node's users were made members again since then.
        var hasJoinedAgain = false
        /// Whether the first of the messages is gone.
        var hasGap = false
    }

    /// The last event of a cache channel.
    struct CachedEvent {
        let frame: EventFrame
        /// `nil` if it has no number.
        let position: StreamPosition?
    }

    init(_ address: ChannelAddress, partition: Int, keys: PartitionKeys) {
        self.address = address
        self.partition = partition
        isPresence = address.name.kind.isPresence
        channel = ClusterChannel(app: address.app.text, name: address.name.text)
        topic = "\(keys.announcements(channel))"
    }

    /// Whether everything published is received.
    var isCurrent: Bool { if case .current = reception { true } else { false } }

    /// Whether it was current before, so that it has to catch up or does.
    var isBehind: Bool { missing != nil }

    /// What it may have missed; `nil` if it is current, or was never.
    var missing: Missing? {
        switch reception {
        case .behind(let missing), .catchingUp(let missing): missing
        case .detached, .current: nil
        }
    }

    /// Whether it is reading what it has missed.
    var isCatchingUp: Bool { if case .catchingUp = reception { true } else { false } }

    /// Called when everything up to ``position`` is received, and nothing more was published.
    func becameCurrent(since epoch: UInt64) { (reception, since) = (.current, epoch) }

    /// Called when it begins to read the messages up to the newest one.
    func beginCatchingUp(upTo newest: StreamPosition) {
        guard let missing else { return }
        (reception, self.newest) = (.catchingUp(missing), newest)
    }

    /// Called when a message that it has missed is gone.
    func foundGap() {
        guard var missing else { return }
        missing.hasGap = true
        reception = .behind(missing)
    }

    /// Called when the node's users are made members again, or have to be.
    func setHasJoinedAgain(_ hasJoinedAgain: Bool) {
        guard var missing else { return }
        missing.hasJoinedAgain = hasJoinedAgain
        reception = isCatchingUp ? .catchingUp(missing) : .behind(missing)
    }

    /// Adds a subscription that waits for its user to become a member, and returns whether to report the user to Redis.
    func join(_ subscription: PendingSubscription, as user: UserID) -> Bool {
        joining.append(subscription)
        return arriving.insert(user).inserted
    }

    /// Removes the subscriptions that wait for a user to become a member, in order; `nil` if the user was not reported
    /// to Redis.
    func takeJoining(_ user: UserID) -> [PendingSubscription]? {
        guard arriving.remove(user) != nil else { return nil }
        return joining.removeAll(of: user)
    }

    /// Whether a user is about to become a member, or has a connection that waits for something else.
    func hasPending(_ user: UserID) -> Bool {
        arriving.contains(user) || waiting.contains(user) || replaying.contains(user)
    }

    /// Called when the connection is lost, or when a message was not received, with the partition's counter as of the
    /// last heartbeat.
    func fellBehind(at counter: Int64) {
        switch reception {
        case .detached: break
        case .current: (reception, self.counter) = (.behind(Missing()), counter)
        case .behind(let missing), .catchingUp(let missing):
            reception = .behind(Missing(hasGap: missing.hasGap))
        }
        guard isPresence else { return }
        waiting.append(contentsOf: joining.removeAll())
        (arriving, announced) = ([], [])
        // A user without a connection on the channel joins when a subscription is granted.
        joined = []
    }
}

/// The channels that this node follows: those with subscribers here, and those that had some until recently.
final class RemoteChannels {
    let partitions: Partitions
    // The service owns this object.
    private unowned let channels: ChannelService
    private var table = SegmentedDictionary<ChannelAddress, RemoteChannel>()
    /// The same by the names of their pub/sub channels.
    private(set) var topics = SegmentedDictionary<String, RemoteChannel>()
    /// The number of channels to which the node is attached.
    private(set) var attachedCount = 0

    init(_ partitions: Partitions, _ channels: ChannelService) {
        (self.partitions, self.channels) = (partitions, channels)
    }

    subscript(address: ChannelAddress) -> RemoteChannel? { table[address] }

    /// The number of followed channels.
    var count: Int { table.count }

    /// The calls on a channel's partition.
    func calls(of remote: RemoteChannel) -> PartitionCalls { partitions[remote.partition].calls }

    /// The store that has a channel's partition.
    func store(of remote: RemoteChannel) -> ClusterStore { partitions[remote.partition].store }

    /// The number of subscriptions of the node's connections, including the waiting ones.
    func subscriptionCount(of remote: RemoteChannel) -> Int {
        (channels.table[remote.address]?.home.subscribers.total ?? 0)
            + remote.waiting.count + remote.joining.count + remote.replaying.count
    }

    /// Follows a channel.
    func follow(_ address: ChannelAddress) -> RemoteChannel {
        let index = partitions.index(of: address)
        let partition = partitions[index]
        let remote = RemoteChannel(address, partition: index, keys: partition.calls.keys)
        table[address] = remote
        topics[remote.topic] = remote
        remote.place = partition.channels.count
        partition.channels.append(remote)
        return remote
    }

    /// Stops following a channel.
    func forget(_ remote: RemoteChannel) {
        guard table[remote.address] === remote else { return }
        setCountedSubscriptions(0, of: remote)
        table[remote.address] = nil
        topics[remote.topic] = nil
        let partition = partitions[remote.partition]
        partition.channels.swapAt(remote.place, partition.channels.count - 1)
        partition.channels.removeLast()
        if remote.place < partition.channels.count {
            partition.channels[remote.place].place = remote.place
        }
        channels.state.unfollow(remote.address)
    }

    /// Records the number of a channel's subscriptions that Redis has counted.
    func setCountedSubscriptions(_ count: Int, of remote: RemoteChannel) {
        // A reply may concern a channel that is not followed any more.
        guard table[remote.address] === remote else { return }
        let former = exchange(&remote.countedSubscriptions, with: count)
        attachedCount += (count > 0 ? 1 : 0) - (former > 0 ? 1 : 0)
    }

    /// Called when the connection is lost, so that nothing is received any more on the channels of a partition.
    ///
    /// One turn does it for all channels of a store, so each should cost as little as possible.
    func lose(partition index: Int) {
        let partition = partitions[index]
        let counter = partition.counter
        for remote in partition.channels {
            remote.fellBehind(at: counter)
            remote.isSubscribed = false
            remote.attaching = nil
            if remote.countedSubscriptions > 0 { attachedCount -= 1 }
            remote.countedSubscriptions = 0
            remote.catchingUpCost = 0
            remote.isQueued = false
        }
    }

    // MARK: - Streams

    /// Whether a channel has a stream that continues.
    func hasStream(_ remote: RemoteChannel) -> Bool {
        guard let position = remote.position else { return false }
        return position.stream > partitions[remote.partition].epoch?.since ?? .max
    }

    /// Follows the channel's stream again, if it was forgotten while the channel was vacant.
    func keepStream(of remote: RemoteChannel) {
        guard let position = remote.position,
            channels.state.streams.index(of: remote.address) == nil
        else { return }
        setPosition(position, of: remote)
    }

    /// Continues the channel's stream at a position.
    func setPosition(_ position: StreamPosition?, of remote: RemoteChannel) {
        let (address, partition) = (remote.address, partitions[remote.partition])
        if position?.stream != remote.position?.stream {
            partition.store.streamChanged(of: address)
        }
        remote.position = position
        if let stream = position?.stream {
            partition.newestStream = max(partition.newestStream, stream)
        }
        let context = partitions.context
        let channel = channels.table[address]
        guard let position, let app = context.registry.apps[address.app], app.recovery.isEnabled,
            let known = ChannelPosition(position)
        else {
            channel?.home.stream = nil
            return channels.state.unfollow(address)
        }
        let isVacant = channel?.home.isVacant ?? true
        let stream = channels.state.follow(
            address,
            at: known,
            app.recovery,
            isVacant: isVacant,
            at: context.milliseconds
        )
        if !isVacant { channel?.home.stream = stream }
    }

    /// Requests the next messages of a channel from Redis, between two IDs in the syntax of `XRANGE`.
    ///
    /// Returns whether there is a connection. When it ends before the reply, the call is abandoned.
    @discardableResult
    func readMessages(
        of remote: RemoteChannel,
        from first: String,
        to last: String,
        countMax: Int,
        as call: any StoreCall
    ) -> Bool {
        let key = "\(calls(of: remote).keys.messages(remote.channel))"
        let command = ["XRANGE", key, first, last, "COUNT", "\(countMax)"]
        return partitions.read(command, in: remote.partition, as: call)
    }

    /// Counts a damaged entry of a channel's stream.
    func refusedEntry(on remote: RemoteChannel) {
        partitions.refused("an entry of a stream", by: store(of: remote))
    }
}

extension ChannelPosition {
    /// A position in a stream of Redis, as sent to clients.
    init?(_ position: StreamPosition) {
        guard let stream = StreamID("\(position.stream)") else { return nil }
        self.init(stream: stream, serial: position.serial)
    }
}

extension StreamPosition {
    /// A client's position; `nil` if it belongs to no stream of Redis.
    init?(_ position: ChannelPosition) {
        guard let stream = UInt64(safe: Array(position.stream.text.utf8).span) else { return nil }
        self.init(stream: stream, serial: position.serial)
    }
}
