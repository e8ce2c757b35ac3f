import Broker
import Net
import Primitives
import RESP
import Redis

/// A shard's connection to one store: a Redis primary with its replicas, which has some of the shard's partitions.
///
/// It registers the node in each of them, renews the registration, and sends the messages of their channels. It tracks
/// the consequences of a loss of the connection, which affects these partitions only. Confined to its loop's thread.
final class ClusterStore {
    // The home owns this object.
    unowned let home: ClusterHome
    let context: ShardContext
    let settings: ClusterSettings
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
    /// The channels to attach or detach after the answers to other calls.
    var attachmentQueue = Queue<RemoteChannel>()
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
    /// The channels that have to catch up, in order.
    var behind: [RemoteChannel] = []
    /// The partitions that are searched for such channels when ``behind`` is empty.
    var unvisited: [Int] = []
    /// The partitions in which Redis has refused the node on a channel, or a subscription.
    var refused: Set<Int> = []
    /// The total cost of the channels that are catching up; see ``SharedChannels/catchingUpCostMax``.
    var catchingUpCost = 0
    /// The number of channels that may still begin to catch up in this turn.
    var catchUpsLeft = SharedChannels.catchUpsPerTurn
    /// The channels that are compared with Redis next.
    var comparison = PositionComparison()
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
    init(_ address: StoreAddress, of home: ClusterHome, _ transit: PartitionTransit? = nil) {
        self.transit = transit
        self.home = home
        self.address = address
        (context, settings) = (home.partitions.context, home.partitions.settings)
        status = settings.status.store("\(address.url)")
        replicas = settings.replicaCount.map { ReplicaConfirmations(of: self, replicaCount: $0) }
    }

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
        catchUpsLeft = SharedChannels.catchUpsPerTurn
    }

    /// Whether a call on a partition is unanswered.
    func isUnanswered(in partition: Int) -> Bool {
        calls.values.contains { $0.partition == partition } || reads.areWaiting(in: partition)
    }

    /// Ends the use of a store without partitions.
    func retire() {
        guard !isRetired else { return }
        isRetired = true
        for message in replicas?.end() ?? [] { home.publisher.refuse(message, .unanswered) }
        endIsolation()
        shutDown()
        settings.status.leave(status)
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
        case .heartbeat: heartbeatIsDue()
        case .patience: refuseWaiting()
        case .isolation: becomeIsolated()
        case .closing: closeClients()
        case .comparison: if isOpen { home.channels.comparison.compareDue(in: self) }
        }
    }
}
