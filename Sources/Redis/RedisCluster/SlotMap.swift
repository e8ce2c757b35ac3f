public import RESP

/// The servers of a Redis Cluster by slot.
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
    /// A shard without an online primary has no server, until one of its replicas is promoted. Other servers may have
    /// the host of `url`, the queried server, and use encryption as it does.
    public init?(_ shards: borrowing RESPView, of url: RedisURL) {
        self.init(RESPTree(shards), of: url)
    }

    /// Reads the reply to `CLUSTER SHARDS`, as above.
    package init?(_ shards: RESPTree, of url: RedisURL) {
        guard case .list(.array, let shards) = shards else { return nil }
        var parts: [Part] = []
        for shard in shards {
            guard let server = Self.primary(shard["nodes"].elements, url) else { continue }
            let bounds = shard["slots"].elements.map { Int($0.text) ?? -1 }
            guard bounds.count.isMultiple(of: 2) else { return nil }
            for index in stride(from: 0, to: bounds.count, by: 2) {
                let (first, last) = (bounds[index], bounds[index + 1])
                guard first >= 0, first <= last, last < Self.slotCount else { return nil }
                parts.append(Part(slots: first...last, server: server))
            }
        }
        parts.sort { $0.slots.lowerBound < $1.slots.lowerBound }
        let overlaps = zip(parts, parts.dropFirst()).contains {
            $0.slots.upperBound >= $1.slots.lowerBound
        }
        guard !overlaps else { return nil }
        self.parts = parts
    }

    private static func primary(_ nodes: [RESPTree], _ url: RedisURL) -> RedisURL.Location? {
        var primary: RedisURL.Location?
        for node in nodes where node["role"].text == "master" && node["health"].text == "online" {
            guard let port = UInt16(node[url.isSecure ? "tls-port" : "port"].text) else { continue }
            primary = url.location(endpoint: node["endpoint"].text, port: port) ?? primary
        }
        return primary
    }

    /// The server that has a slot; nil if none has it.
    public subscript(slot: Int) -> RedisURL.Location? {
        // The last part that begins before the slot or at it.
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
    ///   - endpoint: The host; empty for the host of this server, and `?` if it is unknown.
    ///   - port: The port.
    /// - Returns: The location; nil if it is unknown.
    func location(endpoint: String, port: UInt16) -> Location? {
        guard endpoint != "?", port > 0 else { return nil }
        if !endpoint.isEmpty { return .host(endpoint, port: port) }
        guard case .host(let host, _) = location else { return nil }
        return .host(host, port: port)
    }
}
