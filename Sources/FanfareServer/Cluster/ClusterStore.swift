import Broker
import Net
import Primitives
import RESP
import Redis

/// A shard's connection to one store: a Redis primary with its replicas, which has some of the shard's partitions.
///
/// Registers the node in each of them and renews it, sends the messages of their channels, and knows how far a loss of the
/// connection has gone, which concerns these partitions alone. Confined to its loop's thread.
final class ClusterStore {
    // The home owns this object.
    unowned let home: ClusterHome
    let context: ShardContext
    let settings: ClusterSettings
    /// How the primary is found.
    let address: StoreAddress
    /// What the node's shards know of their connections to the store.
    let status: StoreStatus
    /// The indices of its partitions among those of the shard.
    var partitions: [Int] = []
    /// A call that is not answered.
    struct Unanswered {
        let purpose: ClusterHome.Call
        /// The index of its partition; `nil` if it concerns several.
        let partition: Int?
        /// Whether it is a ``ClusterRead``.
        let isRead: Bool
    }

    /// The calls that are not answered.
    var calls: [CallID: Unanswered] = [:]
    /// The number of unanswered batches of messages.
    private(set) var unansweredBatchCount = 0
    /// The most unanswered calls of kinds of which there may be thousands at once: an event waits at Redis for no more of them.
    static var pacedCallsMax: Int { 8 }
    /// The number of such calls that are not answered.
    private(set) var unansweredPacedCount = 0
    /// The most calls of `attach` and `detach` that one turn sends for the subscriptions of clients.
    private static var attachmentsPerTurn: Int { 1 }
    /// The number of them that this turn may still send; negative if it has sent other paced calls.
    private var attachmentsLeft = attachmentsPerTurn
    /// The channels to which the node is attached, or from which it is detached, after the answers to other calls.
    var attachmentQueue = Queue<RemoteChannel>()
    /// Of a store that stands for the way of one partition between two others.
    var transit: PartitionTransit?
    /// Whether it has no partitions any more, and is not used again.
    private(set) var isRetired = false
    /// The numbers of unanswered `SUNSUBSCRIBE`, by pub/sub channel: what ends besides has moved.
    var endings: [String: (partition: Int, count: Int)] = [:]
    /// Messages on their way to Redis.
    var outbox = ClusterOutbox()
    /// What the primary has executed, until replicas have it; `nil` if publishers do not wait for that.
    private(set) var replicas: ReplicaConfirmations?
    /// What is read over the present connection.
    var reads = ReadQueue()
    /// The channels that have to find out what they have missed, in the order in which they do.
    var behind: [RemoteChannel] = []
    /// The partitions whose channels are looked through for such channels, when ``behind`` is empty.
    var unvisited: [Int] = []
    /// The partitions in which Redis has refused the node on a channel, or a subscription.
    var refused: Set<Int> = []
    /// What the channels count for that are finding out; see ``ClusterHome/catchingUpCostMax``.
    var catchingUpCost = 0
    /// The number of channels that may still begin to find out in this turn.
    var catchUpsLeft = ClusterHome.catchUpsPerTurn
    /// Which channels are compared with Redis next.
    var comparison = PositionComparison()
    var connection: RedisConnection?
    /// Where the connection leads.
    var location: RedisURL.Location?
    /// Follows the primary; `nil` without Sentinels.
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
    /// The process behind the last connection.
    var lastRun: RunID?
    /// The number of the last connection there.
    var lastClientID: Int64?
    /// What the server of the present connection has said of itself.
    var identity: ServerIdentity?
    /// The portion of the partitions that gets the next heartbeats.
    var heartbeatPortion = 0
    /// When the last portion got them; `nil` before the first.
    var lastHeartbeat: MonotonicTime?
    /// How far a loss of the connection has gone.
    var isolation = Isolation.none
    /// Whether the connection was lost, and there is no other yet over which the node is registered.
    var isLost = false
    /// The partitions whose clients are to be closed.
    var unclosed: [Int] = []
    /// The partitions in which the node is not registered yet over the present connection.
    var unregistered: Set<Int> = []
    /// Whether the server has refused a subscription to a pub/sub channel, and accepted none since.
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
        (context, settings) = (home.context, home.settings)
        status = settings.status.store("\(address.url)")
        replicas = settings.replicaCount.map { ReplicaConfirmations(of: self, replicaCount: $0) }
    }

    // MARK: - Calls

    /// Sends a call.
    ///
    /// - Returns: Whether it was sent. If not, the connection has ended, and its end is about to be reported: then
    ///   everything starts again.
    @discardableResult
    func send(_ call: ScriptCall, to partition: Int?, as purpose: ClusterHome.Call) -> Bool {
        send(to: partition, as: purpose) { connection throws(RedisCallError) in
            try connection.send(call)
        }
    }

    /// Sends a call.
    ///
    /// - Parameters:
    ///   - partition: The index of its partition; `nil` if it concerns several.
    ///   - purpose: What the reply is for; `nil` for `SUBSCRIBE` and `UNSUBSCRIBE`, which pushes answer unless they are refused.
    ///   - isRead: Whether it is a ``ClusterRead``.
    ///   - send: Sends it.
    /// - Returns: Whether it was sent.
    @discardableResult
    func send(
        to partition: Int?,
        as purpose: ClusterHome.Call?,
        isRead: Bool = false,
        _ send: (RedisConnection) throws(RedisCallError) -> CallID
    ) -> Bool {
        guard isOpen, let connection else { return false }
        do throws(RedisCallError) {
            let id = try send(connection)
            if let purpose {
                calls[id] = Unanswered(purpose: purpose, partition: partition, isRead: isRead)
            }
            if purpose?.endsBatch == true { unansweredBatchCount += 1 }
            if purpose?.isPaced == true {
                unansweredPacedCount += 1
                attachmentsLeft -= 1
            }
            return true
        } catch {
            // Redis is far behind, or gone: another connection begins with what is known by then.
            connection.close()
            return false
        }
    }

    /// Sends a command that is sent seldom; hot ones are written without strings.
    @discardableResult
    func send(_ command: [String], to partition: Int?, as purpose: ClusterHome.Call) -> Bool {
        send(to: partition, as: purpose) { connection throws(RedisCallError) in
            try connection.call(command)
        }
    }

    /// Removes and returns the call that is answered; `nil` if only an error answers it.
    func takeAnswered(_ id: CallID) -> Unanswered? {
        let call = calls.removeValue(forKey: id)
        if call?.purpose.endsBatch == true { unansweredBatchCount -= 1 }
        if call?.purpose.isPaced == true { unansweredPacedCount -= 1 }
        return call
    }

    /// Removes and returns the calls that will not be answered, in their order; then the reads that were not sent.
    @discardableResult
    func takeUnanswered() -> [ClusterHome.Call] {
        (unansweredBatchCount, unansweredPacedCount) = (0, 0)
        return exchange(&calls, with: [:]).sorted { $0.key < $1.key }.map(\.value.purpose)
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
        catchUpsLeft = ClusterHome.catchUpsPerTurn
    }

    /// Whether a call on a partition is unanswered.
    func isUnanswered(in partition: Int) -> Bool {
        calls.values.contains { $0.partition == partition } || reads.areWaiting(in: partition)
    }

    /// Ends the use of a store without partitions.
    func retire() {
        guard !isRetired else { return }
        isRetired = true
        for message in replicas?.end() ?? [] { home.refuse(message, .unanswered) }
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
        case .comparison: if isOpen { home.compareDue(in: self) }
        }
    }
}
