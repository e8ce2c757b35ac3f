public import RESP

/// The keys of a partition: a part of all channels and users whose keys are on one Redis server.
///
/// Each begins with `PREFIX:{TAG}:`. Redis Cluster assigns a key by its tag alone, and the tags are chosen so that
/// partitions spread evenly over the slots.
public struct PartitionKeys: Sendable {
    private let base: [UInt8]
    /// The beginning of the keys of its pool.
    private let pool: [UInt8]
    /// The slot of all the keys in a Redis Cluster.
    public let slot: Int

    /// Makes the keys of all partitions, by the partition's number.
    ///
    /// - Parameters:
    ///   - prefix: One for each deployment that shares a server; without braces.
    ///   - count: The number of partitions, at most 16,384; fixed for a deployment.
    ///   - poolCount: The number of pools. The partitions of a pool share the limits of kept data and are on one
    ///     server: those whose numbers have the same remainder. Nil if each partition is a pool, as a Redis Cluster
    ///     requires.
    /// - Returns: The keys.
    public static func all(
        prefix: String,
        count: Int = 256,
        poolCount: Int? = nil
    ) -> [PartitionKeys] {
        precondition(!prefix.contains("{"), "a prefix with a brace has a tag of its own")
        var pools: [[UInt8]] = []
        return (0..<count).map { partition in
            var number = 0
            // The first tag in the partition's share of the slots.
            while true {
                let tag = "\(partition)-\(number)"
                let slot = HashSlot.slot(of: tag.utf8)
                if slot * count / HashSlot.count == partition {
                    let base = Array("\(prefix):{\(tag)}:".utf8)
                    if partition < poolCount ?? count { pools.append(base) }
                    let pool = pools[partition % pools.count]
                    return PartitionKeys(
                        base: base,
                        pool: poolCount == nil ? base : pool,
                        slot: slot
                    )
                }
                number += 1
            }
        }
    }

    /// The slot of a key without a tag, outside of all partitions.
    package static func slot(ofKey key: String) -> Int { HashSlot.slot(of: key.utf8) }

    /// The keys of the partition as its own pool, as a Redis Cluster requires.
    public var ofOwnPool: PartitionKeys { PartitionKeys(base: base, pool: base, slot: slot) }

    private init(base: [UInt8], pool: [UInt8], slot: Int) {
        (self.base, self.pool, self.slot) = (base, pool, slot)
    }

    /// The hash of the epoch: the primary's process, and since when it is the primary.
    public var epoch: RedisKey { RedisKey(base, "g") }
    /// The sorted set of the nodes, by their last heartbeats.
    public var nodes: RedisKey { RedisKey(base, "nodes") }
    /// The node that leads.
    public var leader: RedisKey { RedisKey(base, "leader") }
    /// The hash of the nodes, by their numbers.
    package var nodeNumbers: RedisKey { RedisKey(base, "numbers") }
    /// The sorted set of the nodes' numbers, by their last renewal.
    var nodeNumberRenewals: RedisKey { RedisKey(base, "numbers:t") }
    /// The hash of a node's report about itself, for operators; only in the first partition.
    package func report(of node: String) -> RedisKey { RedisKey(base, "d", node) }
    /// A number that changes with each message without a position.
    public var counter: RedisKey { RedisKey(base, "c") }
    /// The set of a node's items, and `.` while it is registered.
    public func items(of node: String) -> RedisKey { RedisKey(base, "i", node) }
    /// The node that removes the items of a node that has ended.
    public func reaper(of node: String) -> RedisKey { RedisKey(base, "b", node) }
    /// The sorted set of due work, by time.
    public var due: RedisKey { RedisKey(base, "due") }
    /// The stream of webhooks that wait.
    public var webhooks: RedisKey { RedisKey(base, "w") }
    /// The stream of webhooks that were abandoned.
    public var deadWebhooks: RedisKey { RedisKey(base, "w:dead") }
    /// The prefix of the names of the nodes' inboxes.
    var inboxes: RedisKey { RedisKey(base, "inbox") }
    /// The hash of each node's use of the apps' limits; only in the first partition.
    public var usage: RedisKey { RedisKey(base, "usage") }
    /// The pub/sub channel of a node.
    public func inbox(of node: String) -> RedisKey { RedisKey(base, "inbox", node) }
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
    /// The hash of a presence channel's members, with the number of nodes of each.
    public func members(_ channel: ClusterChannel) -> RedisKey { RedisKey(base, "p", channel) }
    /// The hash of the infos of a channel's members.
    public func memberInfos(_ channel: ClusterChannel) -> RedisKey { RedisKey(base, "q", channel) }
    /// The set of the users that are members of a channel on a node.
    public func users(of node: String, on channel: ClusterChannel) -> RedisKey {
        RedisKey(base, "r", node, channel.id)
    }
    /// When a channel with many subscriptions has last announced their number.
    public func countNotice(_ channel: ClusterChannel) -> RedisKey { RedisKey(base, "#", channel) }
    /// The hash of an app's cached events, by channel.
    public func cachedEvents(_ app: String) -> RedisKey { RedisKey(base, "k", app) }
    /// The sorted set of the channels with a cached event, by its expiry.
    public func cachedEventExpiries(_ app: String) -> RedisKey { RedisKey(base, "l", app) }
    /// When a channel was last found without a cached event.
    public func cacheMiss(_ channel: ClusterChannel) -> RedisKey { RedisKey(base, "y", channel) }
    /// The hash of a signed-in user's connections, by node.
    public func connections(_ user: ClusterUser) -> RedisKey { RedisKey(base, "u", user) }
    /// The pub/sub channel of a user.
    public func announcements(_ user: ClusterUser) -> RedisKey { RedisKey(base, "v", user) }
    /// When a user's connections were last terminated.
    public func termination(_ user: ClusterUser) -> RedisKey { RedisKey(base, "t", user) }
    /// The hash of an app's sessions, by token.
    public func sessions(_ app: String) -> RedisKey { RedisKey(base, "s", app) }
    /// The sorted set of an app's sessions, by expiry.
    public func sessionExpiries(_ app: String) -> RedisKey { RedisKey(base, "e", app) }
    /// The amounts that the partition's pool keeps; the names of further keys begin with this one (see `kept.lua`).
    public var kept: RedisKey { RedisKey(pool, "kept") }
    /// The position that was published with an idempotency key.
    public func idempotency(_ app: String, _ key: String) -> RedisKey {
        RedisKey(base, "x", app, key)
    }
    /// `PREFIX:{TAG}:`, with which all keys begin.
    package var prefix: String { String(decoding: base, as: UTF8.self) }
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

    /// The channel in the arguments of scripts; neither an app's ID nor a channel's name contains a colon.
    var id: String { "\(app):\(name)" }

    /// Parses ``id``; nil for another form.
    init?(id: some StringProtocol) {
        guard let parts = halves(of: String(id)) else { return nil }
        self.init(app: parts.app, name: parts.rest)
    }
}

/// A user of an app.
public struct ClusterUser: Hashable, Sendable {
    /// The app's ID.
    public var app: String
    /// The user's ID.
    public var id: String

    /// Makes the user of an app.
    public init(app: String, id: String) {
        self.app = app
        self.id = id
    }

    /// The user in the arguments of scripts.
    var text: String { "\(app):\(id)" }

    /// Parses ``text``; nil for another form.
    init?(text: some StringProtocol) {
        guard let parts = halves(of: String(text)) else { return nil }
        self.init(app: parts.app, id: parts.rest)
    }
}

/// Splits a text at its first colon, by bytes, because a peer may have chosen the rest; nil without a colon.
private func halves(of text: String) -> (app: String, rest: String)? {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    return (String(text[..<colon]), String(text[text.utf8.index(after: colon)...]))
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

    init(_ base: [UInt8], _ kind: StaticString, _ user: ClusterUser) {
        self.init(base, kind, user.app, user.id)
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
