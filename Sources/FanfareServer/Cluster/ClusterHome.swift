import Broker
import Net
import PusherProtocol
import RESP
import Redis

/// The channels of one home shard in a cluster: Redis orders their messages, counts their subscriptions and keeps their
/// streams; this shard passes on what its clients and backends send, and what Redis announces.
///
/// One connection carries calls, replies and announcements, in the order in which Redis has executed them. So a message that
/// is read before the reply to a call was published before the call was executed, and one that is read behind it, after.
/// Confined to its loop's thread.
final class ClusterHome {
    /// A partition whose channels have their home on this shard.
    struct Partition {
        let calls: PartitionCalls
        /// The epoch of the last registration; `nil` before the first.
        var epoch: Epoch?
        /// From which epoch on each was followed by the next without a loss.
        var base: UInt64 = .max
        /// The number of messages without a position, as of the last heartbeat.
        var counter: Int64 = -1
        /// Redis's time of the last heartbeat, in milliseconds since 1970.
        var lastTime: Int64 = 0
        /// Whether the last registration has proven that no message without a position was missed.
        var isComplete = false
    }

    /// What the reply to a call is for.
    enum Call {
        case register(partition: Int)
        case heartbeat(partition: Int)
        case claimNumber
        case publish([OutgoingMessage])
        case plainPart(PlainBatch)
        case plainEnd(PlainBatch)
        case attach(RemoteChannel, PartitionCalls.Interests, count: Int)
        case detach(RemoteChannel)
        case join(RemoteChannel, Member)
        /// `join` of a user that is a member already, as far as this node knows.
        case rejoin
        case leave(RemoteChannel, UserID)
        case user(String, behind: Int64?)
        case condemn(EndedNode)
        case reap(EndedNode, NodeItem)
        case query(ClusterQuery, ClusterQuery.Part)
        case list(ClusterListing)
        case catchUp(RemoteChannel)
        case replay(number: UInt64)
        case session(ClusterSessions.Call)
        case compare([RemoteChannel])
        case usage
        /// `SUBSCRIBE` and `UNSUBSCRIBE`, which are answered by announcements; only errors come here.
        case topics
    }

    let context: ShardContext
    let settings: ClusterSettings
    // The service owns this object.
    unowned let channels: ChannelService
    var partitions: [Partition]
    /// The calls that are not answered.
    var calls: [CallID: Call] = [:]
    /// The channels with subscribers on this node, and those that have had some until a moment ago.
    var remotes: [ChannelAddress: RemoteChannel] = [:]
    /// The same by the names of their pub/sub channels.
    var topics: [String: RemoteChannel] = [:]
    /// Messages on their way to Redis.
    var outbox: ClusterOutbox
    /// The subscriptions that wait for messages which are no longer in memory.
    var replays: [UInt64: (RemoteChannel, RemoteChannel.PendingSubscription)] = [:]
    var lastReplay: UInt64 = 0
    /// The channels that have to find out what they have missed, in the order in which they do.
    var behind: [RemoteChannel] = []
    /// The number of channels that are finding out.
    var catchingUpCount = 0
    /// The channels whose number of subscriptions is to be counted.
    var uncounted: Set<ChannelAddress> = []
    /// The queries of backends that Redis has not answered.
    var queries: [ObjectIdentifier: ClusterQuery] = [:]
    var lists: [ObjectIdentifier: ClusterListing] = [:]
    /// The users with connections on this node, by the names of their pub/sub channels.
    var users: [String: FollowedUser] = [:]
    /// The channels that are not compared with Redis yet in this round; see ``compareNext()``.
    var uncompared: [RemoteChannel] = []
    /// What this node uses of the apps' limits, as last told, and its requests of the last seconds; on the first shard.
    var usage: [AppID: AppUsage] = [:]
    var demands: [AppID: [DemandWindow]] = [:]
    /// The sessions of stock clients with a token whose home is this shard.
    var sessions = ClusterSessions()
    /// Closes the connections of a user on this node.
    var terminateHere: (UserAddress) -> Void = { _ in }
    /// The nodes whose remains are being removed, and how many calls of that are unanswered.
    var reapings: [EndedNode: Int] = [:]
    /// Whether this node stops.
    var isLeaving = false
    var connection: RedisConnection?
    /// Where the connection leads.
    var location: RedisURL.Location?
    /// Follows the primary; `nil` without Sentinels.
    var watch: SentinelWatch?
    /// Whether calls are possible.
    var isOpen = false
    /// Since when they are not; `nil` while they are.
    var downSince: MonotonicTime?
    var backoff = ReconnectBackoff()
    /// The process behind the last connection.
    var lastRun: RunID?
    /// What the server of the present connection has said of itself.
    var identity: ServerIdentity?
    /// Whether all partitions were registered once.
    var isReady = false
    var counts = ClusterCounts()
    /// How far a loss of the connection has gone.
    var isolation = Isolation.none
    /// Whether the connection was lost, and there is no other yet.
    var isLost = false
    private var areTimersRunning: Set<Alarm> = []

    /// The purpose of a timer.
    enum Alarm: Int {
        case connect, heartbeat, counts, vacancies, patience, isolation, closing, claims, sessions
    }

    /// Creates the home of a shard's channels, which is not connected yet.
    init(_ settings: ClusterSettings, _ channels: ChannelService) {
        self.settings = settings
        self.channels = channels
        context = channels.context
        let (shard, shardCount) = (context.shard, context.shardCount)
        partitions = stride(from: shard, to: settings.partitionCount, by: shardCount)
            .map { number in
                let calls = PartitionCalls(
                    node: settings.node,
                    keys: settings.keys[number],
                    scripts: settings.scripts
                )
                return Partition(calls: calls)
            }
        outbox = ClusterOutbox(partitionCount: partitions.count)
    }

    /// The index of a channel's partition among those of this shard.
    func partition(of address: ChannelAddress) -> Int {
        address.home(among: settings.partitionCount) / context.shardCount
    }

    /// The calls on a channel's partition.
    func calls(of remote: RemoteChannel) -> PartitionCalls { partitions[remote.partition].calls }

    /// Whether this shard claims the node's number.
    var claimsNumber: Bool { context.shard == 0 }

    // MARK: - Calls

    /// Sends a call.
    ///
    /// - Returns: Whether it was sent. If not, the connection has ended, and its end is about to be reported: then
    ///   everything starts again.
    @discardableResult
    func send(_ call: ScriptCall, as purpose: Call) -> Bool {
        send(purpose) { connection throws(RedisCallError) in try connection.send(call) }
    }

    /// Sends a call.
    @discardableResult
    func send(
        _ purpose: Call,
        _ send: (RedisConnection) throws(RedisCallError) -> CallID
    ) -> Bool {
        guard isOpen, let connection else { return false }
        do throws(RedisCallError) {
            calls[try send(connection)] = purpose
            return true
        } catch {
            // Redis is far behind, or gone: another connection begins with what is known by then.
            connection.close()
            return false
        }
    }

    // MARK: - Timers

    /// Starts a timer, unless it is running.
    func startTimer(_ alarm: Alarm, after delay: Duration) {
        guard areTimersRunning.insert(alarm).inserted else { return }
        context.reactor.schedule(after: delay, self, tag: alarm.rawValue)
    }
}

extension ClusterHome: TimerTarget {
    func timerFired(tag: Int) {
        guard let alarm = Alarm(rawValue: tag), !context.reactor.hasShutDown else { return }
        areTimersRunning.remove(alarm)
        switch alarm {
        case .connect: connect()
        case .heartbeat: sendHeartbeats()
        case .counts: countSubscriptions()
        case .vacancies: leaveVacantTopics()
        case .patience: refuseWaiting()
        case .isolation: becomeIsolated()
        case .closing: closeClients()
        case .claims: retryClaims()
        case .sessions: renewSessions()
        }
    }
}
