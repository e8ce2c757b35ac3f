public import RESP

/// The keys of a partition: a part of all channels and users, whose keys one Redis server has.
///
/// Each begins with `PREFIX:{TAG}:`. Redis Cluster assigns a key by its tag alone, and the tags are chosen so that
/// partitions spread evenly over the slots.
public struct PartitionKeys: Sendable {
    private let base: [UInt8]

    /// Makes the keys of all partitions.
    ///
    /// - Parameters:
    ///   - prefix: One for each deployment that shares a server; without braces.
    ///   - count: The number of partitions, at most 16,384; fixed for a deployment.
    /// - Returns: The keys, by the partition's number.
    public static func all(prefix: String, count: Int = 256) -> [PartitionKeys] {
        precondition(!prefix.contains("{"), "a prefix with a brace has a tag of its own")
        return (0..<count).map { partition in
            var number = 0
            // The first tag in the partition's share of the slots.
            while true {
                let tag = "\(partition)-\(number)"
                if HashSlot.slot(of: tag.utf8) * count / HashSlot.count == partition {
                    return PartitionKeys(base: Array("\(prefix):{\(tag)}:".utf8))
                }
                number += 1
            }
        }
    }

    private init(base: [UInt8]) { self.base = base }

    /// The hash of the epoch: the primary's process, and since when it is the primary.
    public var epoch: RedisKey { RedisKey(base, "g") }
    /// The sorted set of the nodes, by their last heartbeats.
    public var nodes: RedisKey { RedisKey(base, "nodes") }
    /// The node that leads.
    public var leader: RedisKey { RedisKey(base, "leader") }
    /// The number of messages without a position.
    public var counter: RedisKey { RedisKey(base, "c") }
    /// The set of what a node has, and `.` while it is registered.
    public func items(of node: String) -> RedisKey { RedisKey(base, "i", node) }
    /// The sorted set of an app's occupied channels.
    public func occupied(_ app: String) -> RedisKey { RedisKey(base, "o", app) }
    /// The stream of a channel's messages.
    public func messages(_ channel: ClusterChannel) -> RedisKey { RedisKey(base, "h", channel) }
    /// The pub/sub channel of a channel.
    public func announcements(_ channel: ClusterChannel) -> RedisKey {
        RedisKey(base, "m", channel)
    }
    /// The hash of a channel's subscriptions, by node.
    public func subscriptions(_ channel: ClusterChannel) -> RedisKey {
        RedisKey(base, "n", channel)
    }
    /// A channel's cached event.
    public func cachedEvent(_ channel: ClusterChannel) -> RedisKey { RedisKey(base, "k", channel) }
    /// The hash of the infos of a channel's members.
    public func memberInfos(_ channel: ClusterChannel) -> RedisKey { RedisKey(base, "q", channel) }
    /// The position that was published with an idempotency key.
    public func idempotency(_ app: String, _ key: String) -> RedisKey {
        RedisKey(base, "x", app, key)
    }
}

/// A channel of an app.
public struct ClusterChannel: Hashable, Sendable {
    /// The app's ID.
    public var app: String
    /// The channel's name.
    public var name: String

    /// Makes the channel of an app.
    public init(app: String, name: String) {
        self.app = app
        self.name = name
    }

    /// The member of a node's items that stands for the channel.
    var item: String { "c:\(app):\(name)" }
}

/// A key of Redis, or the name of a pub/sub channel.
public struct RedisKey: Sendable, CustomStringConvertible {
    private let base: [UInt8]
    private let kind: StaticString
    private let first: String?
    private let second: String?

    init(_ base: [UInt8], _ kind: StaticString, _ first: String? = nil, _ second: String? = nil) {
        (self.base, self.kind, self.first, self.second) = (base, kind, first, second)
    }

    init(_ base: [UInt8], _ kind: StaticString, _ channel: ClusterChannel) {
        self.init(base, kind, channel.app, channel.name)
    }

    /// The number of bytes.
    var length: Int {
        base.count + kind.utf8CodeUnitCount + (first.map { $0.utf8.count + 1 } ?? 0)
            + (second.map { $0.utf8.count + 1 } ?? 0)
    }

    func append(to bytes: inout [UInt8]) {
        bytes += base
        kind.withUTF8Buffer { bytes.append(contentsOf: $0) }
        for part in [first, second] {
            guard let part else { continue }
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: part.utf8)
        }
    }

    /// The key as text.
    public var description: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension RESPWriter {
    /// Appends a key as an argument.
    public mutating func argument(_ key: RedisKey) {
        argument(length: key.length) { key.append(to: &$0) }
    }
}
