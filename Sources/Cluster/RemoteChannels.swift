import Broker
import PusherProtocol
import Redis
import Shard

/// The channels that this node follows: those with subscribers here, and those that had some until recently.
final class RemoteChannels {
    let partitions: Partitions
    // The service owns this object.
    private unowned let service: ChannelService
    private var table = SegmentedDictionary<ChannelAddress, RemoteChannel>()
    /// The same by the names of their pub/sub channels.
    private(set) var topics = SegmentedDictionary<String, RemoteChannel>()
    /// The number of channels to which the node is attached.
    private(set) var attachedCount = 0
    /// The users of this node that leave a presence channel if they do not return in time.
    var departing = DepartingMembers()

    init(_ partitions: Partitions, _ service: ChannelService) {
        (self.partitions, self.service) = (partitions, service)
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
        (service.table[remote.address]?.home.subscribers.total ?? 0)
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
        service.state.unfollow(remote.address)
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
        for remote in partitions[index].channels {
            fellBehind(remote)
            remote.isSubscribed = false
            remote.attaching = nil
            if remote.countedSubscriptions > 0 { attachedCount -= 1 }
            remote.countedSubscriptions = 0
            remote.catchingUpCost = 0
            remote.isQueued = false
        }
    }

    /// Called when the connection is lost, or when a message was not received.
    func fellBehind(_ remote: RemoteChannel) {
        remote.fellBehind(at: partitions[remote.partition].counter)
        if remote.isPresence { departing.removeAll(from: remote.address) }
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
            service.state.streams.index(of: remote.address) == nil
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
        let channel = service.table[address]
        guard let position, let app = context.registry.apps[address.app], app.recovery.isEnabled,
            let known = ChannelPosition(position)
        else {
            channel?.home.stream = nil
            return service.state.unfollow(address)
        }
        let isVacant = channel?.home.isVacant ?? true
        let stream = service.state.follow(
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
