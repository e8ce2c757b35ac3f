import Broker
import PusherProtocol
import Redis

/// The purpose of a call of a script or command, for its reply.
enum ClusterCall {
    case register(partition: Int)
    case heartbeat(partition: Int)
    case claimNumber
    /// A call whose reply is not awaited.
    case unawaited
    /// The items that Redis has of this node.
    case items(partition: Int)
    /// The members of a channel on this node, as far as Redis knows.
    case members(ChannelAddress, ClusterChannel)
    case publish([OutgoingMessage])
    case plainPart(PlainBatch)
    case plainEnd(PlainBatch)
    case attach([AttachRequest])
    case detach(RemoteChannel)
    case join(RemoteChannel, Member)
    case leave(RemoteChannel, UserID)
    case user(String, behind: Int64?)
    case condemn(EndedNode)
    case reap(EndedNode, NodeItem)
    case query(ClusterQuery, ClusterQuery.Part, attempt: Int)
    case list(ClusterListing, attempt: Int)
    /// The messages that a channel has missed; fewer than `countMax` are the last ones.
    case catchUp(RemoteChannel, countMax: Int)
    /// The messages that a subscription has missed; fewer than `countMax` are the last ones.
    case replay(number: UInt64, countMax: Int)
    case timers(partition: Int)
    /// The due work of a partition.
    case due
    case settle(partition: Int, [StreamPosition])
    case watch([UserAddress])
    case session(ClusterSessions.Call)
    case compare([RemoteChannel])
    case usage
    /// Whether the server accepts writes.
    case memory
    /// What a partition keeps of apps.
    case uses(partition: Int, [AppID])

    /// Whether it is the last call of a batch of messages.
    var endsBatch: Bool {
        switch self {
        case .publish, .plainEnd: true
        default: false
        }
    }

    /// Whether thousands of its kind may be pending at once, of which only a limited number is sent to Redis at a
    /// time.
    var isPaced: Bool {
        switch self {
        case .attach, .detach, .due: true
        default: false
        }
    }
}

/// A channel in a call of `attach`.
struct AttachRequest {
    let remote: RemoteChannel
    /// What the call reads.
    let interests: PartitionCalls.Interests
    /// The number of subscriptions that it sets.
    let count: Int
}

/// A node that has ended, in one partition.
struct EndedNode: Hashable {
    let name: String
    /// The index of the partition among those of the shard.
    let partition: Int
}
