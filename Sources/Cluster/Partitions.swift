import Broker
import Net
import PusherProtocol
import RESP
import Redis
import Shard

/// A partition whose channels, users and sessions have their home on this shard.
final class Partition {
    var calls: PartitionCalls
    /// The store that has it.
    var store: ClusterStore
    /// The channels of it that the node follows, in no particular order.
    var channels: [RemoteChannel] = []
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
    /// Since when no store is known to have the partition; `nil` while one has it.
    var downSince: MonotonicTime?

    init(_ calls: PartitionCalls, in store: ClusterStore) {
        (self.calls, self.store) = (calls, store)
    }

    /// The newest stream that this node knows, or the epoch that it knows if that is newer.
    ///
    /// Without the epoch, a former primary that is promoted again would continue with its own. Then messages published
    /// in between at another server would be lost, and clients with earlier positions would not be notified.
    var newestKnown: UInt64 { Swift.max(epoch?.since ?? 0, newestStream) }
}

/// The partitions of one shard, and the stores that have them.
///
/// Each partition is in one store, whose connection carries calls, replies and announcements in the order in which
/// Redis has executed them. So a message that is read before the reply to a call was published before the call was
/// executed. One that is read after the reply was published after the call. Confined to its loop's thread.
final class Partitions: RandomAccessCollection {
    let environment: ClusterStore.Environment
    private var list: [Partition] = []
    /// The stores that have them.
    var stores: [ClusterStore] = []
    /// Tracks which server has which partition; `nil` without a Redis Cluster.
    var slots: RedisClusterWatch?
    var counts = ClusterCounts()
    /// Whether this node is stopping.
    var isLeaving = false

    init(_ environment: ClusterStore.Environment) { self.environment = environment }

    var context: ShardContext { environment.context }

    var settings: ClusterSettings { environment.settings }

    var startIndex: Int { 0 }

    var endIndex: Int { list.count }

    subscript(index: Int) -> Partition { list[index] }

    /// Adds the next partition.
    func append(_ partition: Partition) { list.append(partition) }

    // MARK: - Where things are

    /// Whether a store has a partition; with an `index`, whether that is the partition, too.
    func has(_ store: ClusterStore, _ partition: Int, only index: Int?) -> Bool {
        list[partition].store === store && index ?? partition == partition
    }

    /// The index of a channel's partition among those of this shard.
    func index(of address: ChannelAddress) -> Int {
        address.home(among: settings.partitionCount) / context.shardCount
    }

    /// The index of a user's partition among those of this shard.
    func index(of user: UserAddress) -> Int {
        user.home(among: settings.partitionCount) / context.shardCount
    }

    /// The index of a session's partition among those of this shard.
    func index(of session: SessionAddress) -> Int {
        session.home(among: settings.partitionCount) / context.shardCount
    }

    /// The number of a partition of this shard among all.
    func number(of index: Int) -> Int { index * context.shardCount + context.shard }

    /// The scripts that announce messages in the way the servers require.
    var scripts: ClusterScripts { slots == nil ? settings.scripts : settings.shardedScripts }

    // MARK: - Calls

    /// Sends a call on a partition.
    ///
    /// - Returns: Whether it was sent. If not, there is no connection, or its end is about to be reported; then
    ///   everything starts again.
    @discardableResult
    func send(_ script: ScriptCall, to index: Int, as call: any StoreCall) -> Bool {
        list[index].store.send(script, to: index, as: call)
    }

    /// Sends a call on a partition, whose reply a closure receives.
    @discardableResult
    func send(
        _ script: ScriptCall,
        to index: Int,
        receive: @escaping (borrowing RESPView) -> Void
    ) -> Bool {
        send(script, to: index, as: AwaitedCall(receive))
    }

    /// Sends a command that is rarely sent on a partition; frequent ones are written without strings.
    @discardableResult
    func send(_ command: [String], to index: Int, as call: any StoreCall) -> Bool {
        list[index].store.send(command, to: index, as: call)
    }

    /// Reads data of a partition, of any length, as soon as the connection can take the answer.
    ///
    /// - Returns: Whether there is a connection. When it ends before the reply, the call is abandoned.
    func read(_ command: [String], in index: Int, as call: any StoreCall) -> Bool {
        list[index].store.read(ClusterRead(partition: index, command: command, call: call))
    }

    /// Subscribes to pub/sub channels of a partition, and returns whether the call was sent.
    @discardableResult
    func subscribe(to topics: [String], in index: Int) -> Bool {
        let isSharded = slots != nil
        return list[index].store.send(to: index, as: nil) { connection throws(RedisCallError) in
            try connection.subscribe(to: topics, isSharded: isSharded)
        }
    }

    /// Ends the subscriptions to pub/sub channels of a partition.
    func unsubscribe(from topics: [String], in index: Int) {
        let isSharded = slots != nil
        let store = list[index].store
        let isSent = store.send(to: index, as: nil) { connection throws(RedisCallError) in
            try connection.unsubscribe(from: topics, isSharded: isSharded)
        }
        guard isSent, isSharded else { return }
        for topic in topics { store.endings[topic, default: (index, 0)].count += 1 }
    }

    /// The longest of the last round trips to the stores, in microseconds.
    var roundTripMicroseconds: Int {
        let roundTrip = stores.compactMap { $0.connection?.lastRoundTrip }.max() ?? .zero
        return Int(roundTrip / .microseconds(1))
    }

    // MARK: - Counts

    /// Counts a message or reply that is damaged.
    func refused(_ what: String, by store: ClusterStore) {
        counts.refusals += 1
        store.status.refused(what)
    }

    /// Counts positions that Redis has dropped because of the limit of channels without subscribers.
    func forgotPositions(_ count: Int) {
        guard count > 0 else { return }
        counts.add(count, to: \.forgottenPositions)
        context.limitMet(.recoveryPositions)
    }
}
