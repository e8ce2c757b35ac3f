import Broker
import Net
import Primitives
import PusherProtocol
import Redis
import Shard

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
    let isPresence: Bool
    /// What the unanswered call of `attach` reads; `nil` if none is unanswered.
    var attaching: PartitionCalls.Interests?
    /// Its cost among the channels of its store that are catching up; 0 if it is none of them.
    var catchingUpCost = 0
    /// The number of subscriptions counted by Redis, as set by ``RemoteChannels``; 0 if the node is not attached.
    var countedSubscriptions = 0
    /// The number of its partition's counter up to which nothing was missed, as of when it was current.
    var counter: Int64 = -1

    let address: ChannelAddress
    let channel: ClusterChannel
    /// The index of its partition among those of the shard.
    let partition: Int
    /// The name of its pub/sub channel.
    let topic: String
    /// Its index among the channels of its partition.
    var place = 0

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
    /// Whether the node is to be detached when its last user has left; Redis refuses it before.
    var isDetachRefused = false
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
        let envelope: Envelope
        /// `nil` if it has no number.
        let position: StreamPosition?
    }

    /// What precedes a replay: the cached event, nothing if the replay has it, or `nil` if there is none.
    func cachedOpening(ahead replay: Replay?) -> Grant.CachedOpening? {
        guard let cached else { return nil }
        let position = cached.position.flatMap { ChannelPosition($0) }
        return replay?.contains(position) == true ? .nothing : .event(cached.envelope)
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
