import Broker
import Net
import Redis
import Shard

/// A shard's connection to one store: a Redis primary with its replicas, which has some of the shard's partitions.
///
/// It has the calls that are not answered, and the messages that wait. It tracks the consequences of a loss of the
/// connection, which affects these partitions only. Its delegate does everything else. Confined to its loop's thread.
final class ClusterStore {
    /// What belongs to all stores of a shard.
    struct Environment {
        let context: ShardContext
        let settings: ClusterSettings
        /// The dialer of a simulation; `nil` for the network.
        let dialer: (any RedisDialer)?
    }

    let environment: Environment
    // It owns this object.
    unowned let delegate: any ClusterStoreDelegate
    /// The configured address, by which the primary is found.
    let address: StoreAddress
    /// What the node's shards know of their connections to the store.
    let status: StoreStatus
    /// The indices of its partitions among those of the shard.
    var partitions: [Int] = []
    /// A call that is not answered.
    struct Unanswered {
        let call: any StoreCall
        /// The index of its partition; `nil` if it concerns several.
        let partition: Int?
        /// Whether it is a ``ClusterRead``.
        let isRead: Bool
    }

    /// The calls that are not answered.
    var calls: [CallID: Unanswered] = [:]
    /// The number of unanswered batches of messages.
    private(set) var unansweredBatchCount = 0
    /// The maximum number of unanswered calls of kinds that may number thousands, so that an event waits at Redis for
    /// no more.
    static var pacedCallsMax: Int { 8 }
    /// The number of such calls that are not answered.
    private(set) var unansweredPacedCount = 0
    /// The maximum number of `attach` and `detach` calls that one turn sends for the subscriptions of clients.
    private static var attachmentsPerTurn: Int { 1 }
    /// The number of these that this turn may still send; negative if it has sent other paced calls.
    private var attachmentsLeft = attachmentsPerTurn
    /// Its channels that wait for something.
    var channels = ChannelQueues()
    /// Those that are compared with Redis next.
    var comparison = PositionComparison()
    /// The state of a partition that is moving; only for a store that holds one partition between two others.
    var transit: PartitionTransit?
    /// Whether it has no partitions any more, and will not be used again.
    private(set) var isRetired = false
    /// The numbers of unanswered `SUNSUBSCRIBE` calls, by pub/sub channel; any other channel whose subscription ends
    /// has moved.
    var endings: [String: (partition: Int, count: Int)] = [:]
    /// Messages on their way to Redis.
    var outbox = ClusterOutbox()
    /// Messages that the primary has executed, until replicas have them; `nil` if publishers do not wait for that.
    private(set) var replicas: ReplicaConfirmations?
    /// The reads over the present connection.
    var reads = ReadQueue()
    var connection: RedisConnection?
    /// The server of the connection.
    var location: RedisURL.Location?
    /// Tracks the primary; `nil` without Sentinels.
    var watch: SentinelWatch?
    /// The primary of the present connection, as the Sentinels have named it; `nil` without Sentinels.
    var primary: SentinelPrimary?
    /// Whether calls are possible.
    var isOpen = false
    /// Since when they are not; `nil` while they are.
    var downSince: MonotonicTime?
    /// Since when the server refuses all writes for lack of memory; `nil` while it accepts them.
    var fullSince: MonotonicTime?
    /// When the present connection was opened; `nil` before the first.
    var openSince: MonotonicTime?
    var backoff = ReconnectBackoff()
    /// The server process of the last connection.
    var lastRun: RunID?
    /// The number of the last connection there.
    var lastClientID: Int64?
    /// The identity that the server of the present connection has reported.
    var identity: ServerIdentity?
    /// The portion of the partitions that gets the next heartbeats.
    var heartbeatPortion = 0
    /// When the last portion got them; `nil` before the first.
    var lastHeartbeat: MonotonicTime?
    /// The consequences that a loss of the connection has had so far.
    var isolation = Isolation.none
    /// Whether the connection was lost, and the node is not registered over another one yet.
    var isLost = false
    /// The partitions whose clients are to be closed.
    var unclosed: [Int] = []
    /// The partitions in which the node is not registered yet over the present connection.
    var unregistered: Set<Int> = []
    /// Whether the server has refused a subscription to a pub/sub channel, and accepted none since then.
    var refusesSubscriptions = false
    private var areTimersRunning: Set<Alarm> = []

    /// The purpose of a timer.
    enum Alarm: Int {
        case connect, heartbeat, patience, isolation, closing, comparison
    }

    /// Creates a store that is not connected yet.
    init(
        _ address: StoreAddress,
        in environment: Environment,
        delegate: any ClusterStoreDelegate,
        _ transit: PartitionTransit? = nil
    ) {
        (self.address, self.environment, self.delegate) = (address, environment, delegate)
        self.transit = transit
        status = environment.settings.status.store("\(address.url)")
        replicas = settings.replicaCount.map { ReplicaConfirmations(of: self, replicaCount: $0) }
    }

    var context: ShardContext { environment.context }

    var settings: ClusterSettings { environment.settings }

    // MARK: - Calls

    /// Sends a call.
    ///
    /// - Returns: Whether it was sent. If not, the connection has ended, and its end is about to be reported; then
    ///   everything starts again.
    @discardableResult
    func send(_ script: ScriptCall, to partition: Int?, as call: any StoreCall) -> Bool {
        send(to: partition, as: call) { connection throws(RedisCallError) in
            try connection.send(script)
        }
    }

    /// Sends a call, and returns whether it was sent.
    ///
    /// The partition is `nil` if the call concerns several. The call is `nil` for `SUBSCRIBE` and `UNSUBSCRIBE`, which
    /// are answered by pushes unless refused. `isRead` is whether it is a ``ClusterRead``.
    @discardableResult
    func send(
        to partition: Int?,
        as call: (any StoreCall)?,
        isRead: Bool = false,
        _ send: (RedisConnection) throws(RedisCallError) -> CallID
    ) -> Bool {
        guard isOpen, let connection else { return false }
        do throws(RedisCallError) {
            let id = try send(connection)
            guard let call else { return true }
            calls[id] = Unanswered(call: call, partition: partition, isRead: isRead)
            if call.endsBatch { unansweredBatchCount += 1 }
            if call.isPaced {
                unansweredPacedCount += 1
                attachmentsLeft -= 1
            }
            return true
        } catch {
            // Redis is far behind, or gone: another connection begins with the current state.
            connection.close()
            return false
        }
    }

    /// Sends a command that is rarely sent; frequent ones are written without strings.
    @discardableResult
    func send(_ command: [String], to partition: Int?, as call: any StoreCall) -> Bool {
        send(to: partition, as: call) { connection throws(RedisCallError) in
            try connection.call(command)
        }
    }

    /// Removes and returns the answered call; `nil` if only an error answers it.
    func takeAnswered(_ id: CallID) -> Unanswered? {
        guard let answered = calls.removeValue(forKey: id) else { return nil }
        if answered.call.endsBatch { unansweredBatchCount -= 1 }
        if answered.call.isPaced { unansweredPacedCount -= 1 }
        return answered
    }

    /// Removes and returns the calls that will not be answered, in order, followed by the reads that were not sent.
    @discardableResult
    func takeUnanswered() -> [any StoreCall] {
        (unansweredBatchCount, unansweredPacedCount) = (0, 0)
        return exchange(&calls, with: [:]).sorted { $0.key < $1.key }.map(\.value.call)
            + reads.removeAll()
    }

    /// Whether this turn may attach the node to one more channel, or detach it.
    var mayChangeAttachment: Bool {
        unansweredPacedCount < Self.pacedCallsMax && attachmentsLeft > 0
    }

    /// Whether the next turn may send such a call.
    var takesPacedCalls: Bool { isOpen && unansweredPacedCount < Self.pacedCallsMax }

    /// Permits the calls of one more turn.
    func beginTurn() {
        attachmentsLeft = Self.attachmentsPerTurn
        channels.catchUpsLeft = ChannelQueues.catchUpsPerTurn
    }

    /// Whether a call on a partition is unanswered.
    func isUnanswered(in partition: Int) -> Bool {
        calls.values.contains { $0.partition == partition } || reads.areWaiting(in: partition)
    }

    /// Ends the use of a store without partitions.
    func retire() {
        guard !isRetired else { return }
        isRetired = true
        for message in replicas?.end() ?? [] { delegate.refuse(message, .unanswered) }
        endIsolation()
        shutDown()
        settings.status.leave(status)
    }

    // MARK: - Messages

    /// The size of the waiting and the unanswered messages, in bytes.
    var waitingByteCount: Int { outbox.byteCount + unansweredByteCount }

    /// The size of the calls that the connection has not answered, in bytes.
    var unansweredByteCount: Int { connection?.unansweredBytes ?? 0 }

    /// How publishes are acknowledged.
    var acknowledgement: Acknowledgement { replicas?.acknowledgement ?? .primary }

    /// Called when a channel continues in another stream: later messages stay after those that Redis may refuse because
    /// of it.
    func streamChanged(of address: ChannelAddress) {
        guard outbox.contains(address) || isUnanswered(address) else { return }
        outbox.hold(address)
    }

    /// Whether a message of a channel is unanswered.
    func isUnanswered(_ address: ChannelAddress) -> Bool {
        calls.values.contains { unanswered in
            unanswered.call.messages.contains { $0.address == address && !$0.isPlain }
        }
    }

    // MARK: - Timers

    /// Starts a timer, unless it is running.
    func startTimer(_ alarm: Alarm, after delay: Duration) {
        guard areTimersRunning.insert(alarm).inserted else { return }
        context.reactor.schedule(after: delay, self, tag: alarm.rawValue)
    }
}

extension ClusterStore: TimerTarget {
    func timerFired(tag: Int) {
        guard let alarm = Alarm(rawValue: tag), !context.reactor.hasShutDown, !isRetired else {
            return
        }
        areTimersRunning.remove(alarm)
        switch alarm {
        case .connect: connect()
        case .heartbeat: delegate.heartbeatIsDue(in: self)
        case .patience: refuseWaiting()
        case .isolation: becomeIsolated()
        case .closing: closeClients()
        case .comparison: if isOpen { delegate.comparisonIsDue(in: self) }
        }
    }
}

/// A partition between two stores: its slot of a Redis Cluster moves, or has no server at present.
///
/// Meanwhile the partition is in its own store, which has no connection. So its messages wait and are refused, and its
/// clients are closed, by the same rules as for a lost store.
struct PartitionTransit {
    /// The store that had it; its calls there may be unanswered.
    let origin: ClusterStore
    /// The start of the transit.
    let since: MonotonicTime
    /// The server that has it; `nil` until that is known.
    var target: RedisURL.Location?
    /// The process that had it, if that process itself has said that the slot moves; see `register.lua`.
    var vouchedRun: String?
    /// Whether that process has said that the slot has moved; until then the connection must stay open.
    var hasMoved = false
    /// The store in which the node is being registered.
    var probed: ClusterStore?
    /// The messages that the former store has not published, in their order; all others follow them.
    var returned: [OutgoingMessage] = []
    /// The other calls that the former store has not executed, or whose replies are not used, in their order.
    var calls: [any StoreCall] = []
}
