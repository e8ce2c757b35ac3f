/// A server's report of the state of a Redis Cluster (redis.io/commands/cluster-info).
package struct RedisClusterInfo: Sendable {
    private let fields: [Substring: Substring]

    /// Reads the reply to `CLUSTER INFO`.
    package init(_ text: String) {
        fields = RedisServer.fields(of: text)
    }

    /// Whether the server considers the cluster usable.
    ///
    /// It does if it reaches most primaries. Slots without a server then affect only themselves.
    package var isHealthy: Bool { fields["cluster_state"] == "ok" }

    /// The number of the newest configuration that the server knows; nil if it is unknown.
    package var epoch: Int? { fields["cluster_current_epoch"].flatMap { Int($0) } }

    /// The reason why the server refuses commands; nil if it does not.
    package var fault: String? {
        guard !isHealthy else { return nil }
        let count = fields["cluster_slots_ok"] ?? "?"
        return "the Redis Cluster is down (CLUSTERDOWN): \(count) of \(SlotMap.slotCount) slots "
            + "have a server that can be reached, and it needs all of them unless "
            + "cluster-require-full-coverage is no"
    }
}
