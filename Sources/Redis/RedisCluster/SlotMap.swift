public import RESP

/// Which server of a Redis Cluster has which slots.
public struct SlotMap: Hashable, Sendable {
    private struct Part: Hashable {
        let slots: ClosedRange<Int>
        let server: RedisURL.Location
    }

    /// By slots; none overlap.
    private let parts: [Part]

    /// The number of slots.
    public static var slotCount: Int { HashSlot.count }

    /// Reads the reply to `CLUSTER SHARDS` (redis.io/commands/cluster-shards); nil for another form.
    ///
    /// A shard without a primary that is online has no server, until one of its replicas is promoted.
    ///
    /// - Parameters:
    ///   - shards: The reply.
    ///   - url: The server that was asked. Other servers may have its host, and are encrypted as it is.
    public init?(_ shards: borrowing RESPView, of url: RedisURL) {
        guard shards.kind == .array else { return nil }
        var parts: [Part] = []
        var isMalformed = false
        shards.forEach { shard in
            guard let server = Self.primary(shard["nodes"], url) else { return }
            var first: Int64?
            shard["slots"].forEach { element in
                guard let bound = element.integer, bound >= 0, bound < Self.slotCount else {
                    isMalformed = true
                    return
                }
                guard let start = first.take() else {
                    first = bound
                    return
                }
                guard start <= bound else {
                    isMalformed = true
                    return
                }
                parts.append(Part(slots: Int(start)...Int(bound), server: server))
            }
            if first != nil { isMalformed = true }
        }
        parts.sort { $0.slots.lowerBound < $1.slots.lowerBound }
        let overlaps = zip(parts, parts.dropFirst()).contains {
            $0.slots.upperBound >= $1.slots.lowerBound
        }
        guard !isMalformed, !overlaps else { return nil }
        self.parts = parts
    }

    private static func primary(
        _ nodes: borrowing RESPView,
        _ url: RedisURL
    ) -> RedisURL.Location? {
        var primary: RedisURL.Location?
        nodes.forEach { node in
            guard node["role"].equals("master"), node["health"].equals("online") else { return }
            let port = url.isSecure ? node["tls-port"].integer : node["port"].integer
            guard let number = port.flatMap({ UInt16(exactly: $0) }) else { return }
            let endpoint = node["endpoint"].isNull ? "" : node["endpoint"].text
            primary = url.location(endpoint: endpoint, port: number) ?? primary
        }
        return primary
    }

    /// The server that has a slot; nil if none has it.
    public subscript(slot: Int) -> RedisURL.Location? {
        // The last part that begins before the slot or with it.
        var (low, high) = (0, parts.count)
        while low < high {
            let middle = (low + high) / 2
            if parts[middle].slots.lowerBound <= slot { low = middle + 1 } else { high = middle }
        }
        guard low > 0, parts[low - 1].slots.contains(slot) else { return nil }
        return parts[low - 1].server
    }

    /// The server that has a partition; nil if none has it.
    public func server(of partition: PartitionKeys) -> RedisURL.Location? { self[partition.slot] }

    /// The servers that have slots, each once.
    public var servers: [RedisURL.Location] {
        var servers: [RedisURL.Location] = []
        for part in parts where !servers.contains(part.server) { servers.append(part.server) }
        return servers
    }

    /// Whether each slot has a server.
    public var isComplete: Bool { parts.reduce(0) { $0 + $1.slots.count } == Self.slotCount }
}

extension RedisURL {
    /// The location of another server of the same cluster.
    ///
    /// - Parameters:
    ///   - endpoint: The host; empty if it is the one of this server, and `?` if it is unknown.
    ///   - port: The port.
    /// - Returns: The location; nil if it is unknown.
    func location(endpoint: String, port: UInt16) -> Location? {
        guard endpoint != "?", port > 0 else { return nil }
        if !endpoint.isEmpty { return .host(endpoint, port: port) }
        guard case .host(let host, _) = location else { return nil }
        return .host(host, port: port)
    }
}
