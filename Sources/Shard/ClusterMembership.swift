/// What the shards of a node know of its cluster.
package protocol ClusterMembership: Sendable {
    /// The number of partitions, among which the homes of channels, users and sessions are spread.
    var partitionCount: Int { get }

    /// Whether load balancers should send clients elsewhere.
    var isIsolated: Bool { get }

    /// Whether new clients are refused, because none of their messages could arrive.
    var isClosed: Bool { get }

    /// Why the last attempt to connect has failed; `nil` if none has.
    var lastFault: String? { get }
}
