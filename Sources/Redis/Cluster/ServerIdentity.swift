/// The data that shows whether a server has the same data as before, for ``PartitionCalls/register(with:known:_:)``.
public struct ServerIdentity: Hashable, Sendable {
    /// The process.
    public var run: String
    /// The history of its data; empty if it is hidden.
    public var replication: String
    /// The former history of its data; empty without one, or if it is hidden.
    public var formerReplication: String
    /// The latest possible start of the process, in milliseconds since 1970; the maximum if that is hidden.
    public var startedAt: Int64
    /// The configuration epoch in which the Sentinels name it; 0 without Sentinels.
    public var configurationEpoch: Int64

    /// Makes an identity.
    public init(
        run: String,
        replication: String = "",
        formerReplication: String = "",
        startedAt: Int64 = .max,
        configurationEpoch: Int64 = 0
    ) {
        self.run = run
        self.replication = replication
        self.formerReplication = formerReplication
        self.startedAt = startedAt
        self.configurationEpoch = configurationEpoch
    }

    /// Makes the identity of a server.
    ///
    /// - Parameters:
    ///   - server: The server, as it has described itself.
    ///   - connection: A text that is unique to the connection. It replaces the process if that is hidden; then each
    ///     connection begins an epoch.
    ///   - configurationEpoch: The configuration epoch in which the Sentinels name the server; 0 without Sentinels.
    public init(_ server: RedisServer, connection: String, configurationEpoch: Int64 = 0) {
        self.init(
            run: server.runID?.description ?? connection,
            replication: server.replicationID?.description ?? "",
            formerReplication: server.formerReplicationID?.description ?? "",
            startedAt: server.startedAt ?? .max,
            configurationEpoch: configurationEpoch
        )
    }
}
