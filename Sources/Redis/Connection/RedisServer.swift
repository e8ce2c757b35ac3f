/// The identity of a Redis process, or of its data.
///
/// Two connections with the same ID have reached the same process; a restarted or promoted server has another ID.
public struct RunID: Hashable, Sendable, CustomStringConvertible {
    /// 40 hexadecimal digits.
    public let description: String

    /// Checks an ID; nil for another form.
    public init?(_ text: some StringProtocol) {
        let isHexadecimal = text.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
        guard text.utf8.count == 40, isHexadecimal else { return nil }
        description = String(text)
    }
}

/// A server's description of itself when the connection was opened.
public struct RedisServer: Hashable, Sendable {
    /// The operating mode of the server.
    public enum Mode: String, Sendable {
        /// A server, with or without replicas.
        case standalone
        /// A node of a Redis Cluster.
        case cluster
        /// A Sentinel.
        case sentinel
    }

    /// The product: `redis` or `valkey`.
    public var product: String
    /// The version, such as `7.0.15`.
    public var version: String
    /// The operating mode of the server.
    public var mode: Mode
    /// Whether the server is not a replica.
    public var isPrimary: Bool
    /// The process (`run_id`), or where a host hides it, the history of the data (`master_replid`).
    ///
    /// Nil if both are hidden; then each connection may have reached another process.
    public var runID: RunID?
    /// The number of the connection (`CLIENT ID`).
    public var clientID: Int64
    /// The history of the data (`master_replid`), which changes with a promotion; nil if it is hidden.
    public var replicationID: RunID?
    /// The former history of the data (`master_replid2`); nil without one, or if it is hidden.
    public var formerReplicationID: RunID?
    /// The latest possible start of the process, in milliseconds since 1970 by the server's clock; nil if it is hidden.
    public var startedAt: Int64?
    /// The number of connected replicas.
    public var replicaCount = 0

    /// The oldest version that is supported.
    static let leastVersion = "7.0"

    /// Whether the version is supported.
    var isSupported: Bool {
        let major = Int(version.prefix { $0 != "." }) ?? 0
        return major >= 7
    }

    /// Reads the reply to `INFO server replication`.
    ///
    /// Call it again regularly. On an open connection a server can become a replica and be promoted again. That changes
    /// ``replicationID``, and then its partitions have to be registered again.
    public mutating func read(info: String) {
        let fields = Self.fields(of: info)
        runID =
            fields["run_id"].flatMap { RunID($0) } ?? fields["master_replid"].flatMap { RunID($0) }
        readReplication(fields)
        if let time = fields["server_time_usec"].flatMap({ Int64($0) }),
            let uptime = fields["uptime_in_seconds"].flatMap({ Int64($0) })
        {
            // The difference of two times in whole seconds: the actual start is up to a second later.
            startedAt = (time / 1_000_000 - uptime + 1) * 1_000
        }
        // In a compatible mode, Valkey reports the compatible Redis version as `redis_version`.
        if let version = fields["valkey_version"] {
            (product, self.version) = ("valkey", String(version))
        }
    }

    /// Reads the reply to `INFO replication`.
    mutating func read(replication info: String) { readReplication(Self.fields(of: info)) }

    private mutating func readReplication(_ fields: [Substring: Substring]) {
        replicationID = fields["master_replid"].flatMap { RunID($0) }
        // Zeros mean none.
        formerReplicationID = fields["master_replid2"].flatMap { RunID($0) }
            .flatMap { $0.description.contains { $0 != "0" } ? $0 : nil }
        replicaCount = fields["connected_slaves"].flatMap { Int($0) } ?? 0
        if let role = fields["role"] { isPrimary = role == "master" }
    }

    static func fields(of info: String) -> [Substring: Substring] {
        var fields: [Substring: Substring] = [:]
        for line in info.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { fields[parts[0]] = parts[1] }
        }
        return fields
    }
}
