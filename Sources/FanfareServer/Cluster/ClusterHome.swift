import Broker
import BrokerConfiguration
import Net
import Primitives
import PusherProtocol
import RESP
import Redis
import Synchronization

/// The channels of one home shard in a cluster.
///
/// Redis orders their messages, counts their subscriptions and keeps their streams. This shard forwards what its
/// clients and backends send, and what Redis announces.
///
/// Each partition is in one store, whose connection carries calls, replies and announcements in the order in which
/// Redis has executed them. So a message that is read before the reply to a call was published before the call was
/// executed. One that is read after the reply was published after the call. Confined to its loop's thread.
final class ClusterHome: SharedHome {
    /// A partition whose channels have their home on this shard.
    struct Partition {
        var calls: PartitionCalls
        /// The store that has it.
        var store: ClusterStore
        /// The channels of it that the node follows, in no particular order.
        var channels: [RemoteChannel] = []
        /// The pub/sub channels of its users with connections or watchers on this node.
        var users: Set<String> = []
        /// The newest stream of any of its channels.
        var newestStream: UInt64 = 0
        /// The epoch of the last registration; `nil` before the first.
        var epoch: Epoch?
        /// The server process of that registration.
        var run: String?
        /// The first epoch since which each was followed by the next without a loss.
        var base: UInt64 = .max
        /// The number of the counter, as of the last heartbeat.
        var counter: Int64 = -1
        /// Redis's time of the last heartbeat, in milliseconds since 1970.
        var lastTime: Int64 = 0
        /// The state of this node's leadership; `nil` if it does not lead.
        var leadership: Leadership?
        /// Webhooks that are completed but still in the queue, and whether each was delivered.
        var settled: [StreamPosition: Bool] = [:]
        /// Since when no store is known to have the partition; `nil` while one has it.
        var downSince: MonotonicTime?
        /// What the partition keeps in a Redis Cluster, as last read; for the app `nil`, what it keeps of all apps.
        var uses: [AppID?: KeptUse] = [:]
        /// The next app whose use is read.
        var usesPlace = 0
    }

    let context: ShardContext
    let settings: ClusterSettings
    // The service owns this object.
    unowned let channels: ChannelService
    /// The partitions whose home is this shard, by their numbers.
    var partitions: [Partition] = []
    /// The stores that have them.
    var stores: [ClusterStore] = []
    /// The channels with subscribers on this node, and those that had some until recently.
    var remotes = SegmentedDictionary<ChannelAddress, RemoteChannel>()
    /// The same by the names of their pub/sub channels.
    var topics = SegmentedDictionary<String, RemoteChannel>()
    /// The number of channels to which the node is attached.
    var attachedCount = 0
    /// The channels without subscribers, in the order in which they have lost the last one; some may have subscribers
    /// again.
    var vacant = Queue<(remote: RemoteChannel, since: MonotonicTime)>()
    /// The channels whose waiting subscriptions are granted in portions, without another answer of Redis.
    var granting = Queue<RemoteChannel>()
    /// The partitions with due work that is not executed.
    var duePartitions = Queue<Int>()
    /// The comparison with what Redis has of this node.
    var reconciliation = Reconciliation()
    /// The channel and the connection of each read of messages that are no longer in memory, by its number.
    var replays: [UInt64: (RemoteChannel, SocketID)] = [:]
    var lastReplay: UInt64 = 0
    /// The channels whose number of subscriptions is to be sent to Redis.
    var uncounted: Set<ChannelAddress> = []
    /// The queries of backends that Redis has not answered.
    var queries: [ObjectIdentifier: ClusterQuery] = [:]
    /// The lists that are not complete; the first one is being read from Redis.
    var lists: [ClusterListing] = []
    /// The users with connections or watchers on this node, by the names of their pub/sub channels.
    var users: [String: FollowedUser] = [:]
    /// The partitions whose users have to be registered with Redis again, each with the time of ``follow(_:behind:)``.
    var unfollowed: [Int: Int64] = [:]
    /// The users with watchers on this node.
    var watched = WatchedUsers()
    /// Those whose state Redis has refused to report.
    var unreadUsers: Set<UserAddress> = []
    /// Reports the states of users to their watchers.
    var reportUsers: ([UserHome.Report]) -> Void = { _ in }
    /// What this node uses of the apps' limits, as last reported, and its requests of the last seconds; on the first
    /// shard.
    var usage: [AppID: AppUsage] = [:]
    var demands: [AppID: [DemandWindow]] = [:]
    /// What all partitions of a Redis Cluster keep, as last read.
    var keptTotals: [AppID?: KeptUse] = [:]
    /// The sessions of stock clients with a token whose home is this shard.
    var sessions = ClusterSessions()
    /// Closes the connections of a user on this node.
    var terminateHere: (UserAddress) -> Void = { _ in }
    /// The ended nodes whose data is being removed, and the number of unanswered calls for that.
    var reapings: [EndedNode: Int] = [:]
    /// The portion of the partitions whose due work is executed next.
    var timerPortion = 0
    /// Whether this node is stopping.
    var isLeaving = false
    /// When the leaderships are given up before the broker stops; `nil` before that.
    var resignation: MonotonicTime?
    /// Tracks which server has which partition; `nil` without a Redis Cluster.
    var slots: RedisClusterWatch?
    /// Whether all partitions have been registered once.
    var isReady = false
    /// The dialer of a simulation; `nil` for the network.
    let dialer: (any RedisDialer)?
    var counts = ClusterCounts()
    private var areTimersRunning: Set<Alarm> = []

    /// The purpose of a timer.
    enum Alarm: Int {
        case counts, vacancies, timers, settling, claims, sessions, writes, users, moves
    }

    /// Creates the home of a shard's channels, which is not connected yet.
    init(
        _ settings: ClusterSettings,
        _ channels: ChannelService,
        _ users: UserService,
        _ sessions: SessionService,
        _ dialer: (any RedisDialer)?
    ) {
        self.settings = settings
        self.dialer = dialer
        self.channels = channels
        context = channels.context
        var stores: [Int: ClusterStore] = [:]
        for number in stride(
            from: context.shard,
            to: settings.partitionCount,
            by: context.shardCount
        ) {
            let storeNumber = number % settings.stores.count
            let store = stores[storeNumber] ?? ClusterStore(settings.stores[storeNumber], of: self)
            stores[storeNumber] = store
            store.partitions.append(partitions.count)
            let calls = PartitionCalls(
                node: settings.node,
                keys: settings.keys[number],
                scripts: settings.scripts
            )
            partitions.append(Partition(calls: calls, store: store))
        }
        self.stores = stores.sorted { $0.key < $1.key }.map(\.value)
        terminateHere = { [unowned users] in users.terminate($0) }
        reportUsers = { [unowned users] in users.send($0) }
        self.sessions.send = { [unowned sessions] in sessions.send($0, toShardOf: $1) }
    }

    /// The index of a channel's partition among those of this shard.
    func partition(of address: ChannelAddress) -> Int {
        address.home(among: settings.partitionCount) / context.shardCount
    }

    /// The calls on a channel's partition.
    func calls(of remote: RemoteChannel) -> PartitionCalls { partitions[remote.partition].calls }

    /// The store that has a channel's partition.
    func store(of remote: RemoteChannel) -> ClusterStore { partitions[remote.partition].store }

    // MARK: - Calls

    /// Sends a call on a partition.
    ///
    /// - Returns: Whether it was sent. If not, there is no connection, or its end is about to be reported; then
    ///   everything starts again.
    @discardableResult
    func send(_ call: ScriptCall, to partition: Int, as purpose: ClusterCall) -> Bool {
        partitions[partition].store.send(call, to: partition, as: purpose)
    }

    /// Sends a call on a partition; without a purpose, the only possible reply is an error.
    @discardableResult
    func send(
        to partition: Int,
        as purpose: ClusterCall?,
        _ send: (RedisConnection) throws(RedisCallError) -> CallID
    ) -> Bool {
        partitions[partition].store.send(to: partition, as: purpose, send)
    }

    /// Sends a command that is rarely sent on a partition; frequent ones are written without strings.
    @discardableResult
    func send(_ command: [String], to partition: Int, as purpose: ClusterCall) -> Bool {
        partitions[partition].store.send(command, to: partition, as: purpose)
    }

    /// Reads data of a partition, of any length, as soon as the connection can take the answer.
    ///
    /// - Returns: Whether there is a connection. When it ends before the reply, the purpose is abandoned.
    func read(_ command: [String], in partition: Int, as purpose: ClusterCall) -> Bool {
        partitions[partition].store
            .read(ClusterRead(partition: partition, command: command, purpose: purpose))
    }

    /// Connects for the first time.
    func connect() {
        guard !stores.isEmpty else {
            settings.status.readyCount.add(1, ordering: .relaxed)
            return
        }
        guard settings.mode != .cluster else { return joinRedisCluster() }
        for store in stores { store.connect() }
    }

    /// Ends the connections, with the shard.
    func shutDown() {
        // The connections, which end afterwards, withdraw what waits.
        slots?.stop()
        slots = nil
        for store in stores { store.shutDown() }
        (queries, lists) = ([:], [])
        (granting, duePartitions, reconciliation) = (Queue(), Queue(), Reconciliation())
        sessions.removeAll()
    }

    // MARK: - Stores

    /// Called when calls on a store's partitions are possible: everything that waits for them continues.
    func opened(_ store: ClusterStore) {
        goOn(in: store)
        continueMoves()
    }

    /// Continues everything that waits for a store, or for one partition of it.
    ///
    /// - Parameters:
    ///   - store: The store, whose connection is open.
    ///   - index: The index of the partition that has moved there; `nil` for all.
    func goOn(in store: ClusterStore, partition index: Int? = nil) {
        catchUpAll(in: store, partition: index)
        store.sendMessages()
        followUsers(in: store, partition: index)
        startTimer(.settling, after: .zero)
        resumeSessions(in: store, partition: index)
        for query in queries.values where query.isWaiting { ask(query) }
        if let listing = lists.first, listing.isWaiting { ask(listing) }
    }

    /// Called when the connection to a store is lost; Redis may have executed the unanswered calls, given in their
    /// order.
    func lost(_ store: ClusterStore, _ unanswered: [ClusterCall]) {
        cutOff(store)
        store.outbox.lost(unanswered.map { own($0, of: store) }) { refuse($0, .unanswered) }
        loseSessions(unanswered)
        for call in unanswered { giveUp(call) }
        connectionEnded(of: store)
    }

    /// Called when nothing of a store's partitions is received any more, and other nodes may take over this node's
    /// tasks.
    func cutOff(_ store: ClusterStore) {
        fallBehind(in: store)
        loseLeaderships(in: store)
        forgetStates(in: store)
        forgetInboxes(in: store)
        reapings = reapings.filter { partitions[$0.key.partition].store !== store }
    }

    /// Called with a call that is not repeated unchanged; its purpose continues when there is a connection.
    func giveUp(_ call: ClusterCall) {
        switch call {
        case .replay(let number, _):
            guard let (remote, subscription) = takeReplay(number) else { return }
            wait(subscription, on: remote, for: nil)
        case .query(let query, _, let attempt) where attempt == query.attempt:
            query.isWaiting = true
        case .list(let listing, let attempt) where attempt == listing.attempt:
            listing.isWaiting = true
        case .items: reconciliation.store = nil
        default: break
        }
    }

    func received(_ reply: borrowing RESPView, to purpose: ClusterCall, on store: ClusterStore) {
        switch purpose {
        case .register(let partition): store.registered(reply, partition)
        case .heartbeat(let partition): store.receiveHeartbeat(reply, partition)
        case .claimNumber: receiveNumber(reply, from: store)
        case .publish(let messages): published(reply, messages, on: store)
        case .plainPart(let batch): batch.check(reply)
        case .plainEnd(let batch): publishedPlainly(reply, batch, on: store)
        case .attach(let requests): attached(reply, requests, on: store)
        case .detach(let remote): detached(reply, remote)
        case .join(let remote, let member): joined(reply, remote, member)
        case .unawaited, .due: break
        case .items(let partition): receive(reply, ofItemsIn: partition)
        case .members(let address, let channel):
            receive(reply, ofMembersOf: address, channel)
        case .leave(let remote, let user): left(reply, remote, user)
        case .user(let topic, let time): receive(reply, ofUserAt: topic, behind: time)
        case .condemn(let node): condemned(reply, node)
        case .reap(let node, let item): reaped(reply, node, item)
        case .query(let query, let part, let attempt):
            receive(reply, for: query, part, attempt: attempt)
        case .list(let listing, let attempt): receive(reply, for: listing, attempt: attempt)
        case .catchUp(let remote, let countMax): readMissed(reply, remote, countMax: countMax)
        case .replay(let number, let countMax): readReplay(reply, number, countMax: countMax)
        case .timers(let partition): executed(reply, in: partition)
        case .settle(let partition, let ids): settled(reply, ids, in: partition)
        case .watch(let users): receive(reply, of: users)
        case .session(let call): receive(reply, to: call)
        case .compare(let channels): compared(reply, channels)
        case .usage: receiveUsage(reply)
        case .memory: if !reply.isError { store.hasMemory() }
        case .uses(let partition, let apps): receiveUses(reply, of: partition, apps)
        }
    }

    /// Receives a published message.
    func received(_ message: borrowing RESPView, at topic: String) {
        guard let remote = topics[topic] else {
            if let partition = sessions.inboxes[topic] {
                guard let message = InboxMessage(message.copy()) else {
                    return refused(topic, by: partitions[partition].store)
                }
                return receive(message)
            }
            if !users.isEmpty { receive(UserAnnouncement(message.copy()), at: topic) }
            return
        }
        guard let announcement = message.withBytes({ ChannelAnnouncement($0) }) else {
            refused(topic, by: store(of: remote))
            // It may have been an event: it is read from Redis, or the subscribers are notified of a gap.
            if remote.isCurrent { attachAgain(remote) }
            return
        }
        receive(announcement, on: remote)
    }

    /// Counts a message or reply that is damaged.
    func refused(_ what: String, by store: ClusterStore) {
        counts.refusals += 1
        store.status.refused(what)
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
        case .counts: countSubscriptions()
        case .vacancies: leaveVacantTopics()
        case .timers: executeTimers()
        case .settling: sendSettled()
        case .claims: retryClaims()
        case .sessions: renewSessions()
        case .writes: writeWaitingSessions()
        case .users: followNextUsers()
        case .moves: continueMoves()
        }
    }
}

extension ClusterHome {
    /// The number of messages and sessions that wait for Redis, and of sessions whose home is here.
    var tableSizes: (messages: Int, waitingSessions: Int, sessions: Int) {
        (waitingMessageCount, sessions.waitingCount, sessions.owned.count)
    }

    /// The gauges and counters.
    var reading: ClusterReading {
        let roundTrip = stores.compactMap { $0.connection?.lastRoundTrip }.max() ?? .zero
        var (leaderships, waitingWebhooks) = (0, 0)
        // In place: copying 256 partitions takes longer than everything else.
        for index in partitions.indices where partitions[index].leadership != nil {
            leaderships += 1
            waitingWebhooks += partitions[index].leadership?.waitingCount ?? 0
        }
        return ClusterReading(
            connections: stores.count(where: \.isOpen),
            attachedChannels: attachedCount,
            waitingBytes: stores.reduce(0) { $0 + $1.waitingByteCount },
            roundTripMicroseconds: Int(roundTrip / .microseconds(1)),
            leaderships: leaderships,
            waitingWebhooks: waitingWebhooks,
            counts: counts
        )
    }
}

extension ClusterSettings {
    /// Creates a shard's part in the cluster.
    ///
    /// - Parameters:
    ///   - channels: The shard's channels.
    ///   - users: The shard's users.
    ///   - sessions: The shard's sessions.
    ///   - dialer: The dialer of a simulation; `nil` for the network.
    /// - Returns: The part, which is not connected yet.
    package func makeHome(
        of channels: ChannelService,
        _ users: UserService,
        _ sessions: SessionService,
        dialedBy dialer: (any RedisDialer)? = nil
    ) -> any SharedHome {
        ClusterHome(self, channels, users, sessions, dialer)
    }
}
