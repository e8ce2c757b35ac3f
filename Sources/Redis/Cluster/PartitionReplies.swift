public import RESP

/// How publishes are acknowledged.
public enum Acknowledgement: String, Sendable {
    /// By the primary.
    case primary
    /// By the primary and some of the replicas.
    case replica
    /// By the primary and all replicas of the store, so that none of them lacks an acknowledged message when it is
    /// promoted.
    case all
}

/// The time in which one Redis process is a partition's primary.
public struct Epoch: Hashable, Sendable {
    /// The streams up to this ID are sealed.
    public var since: UInt64
    /// Whether no acknowledged message of the preceding epoch is lost.
    public var isClean: Bool

    /// Reads two numbers; nil for another form.
    fileprivate init?(_ since: Int64?, _ isClean: Int64?) {
        guard let since, let isClean else { return nil }
        self.since = UInt64(since)
        self.isClean = isClean == 1
    }
}

/// The reply to `register`.
public struct Registration: Hashable, Sendable {
    /// The partition's epoch.
    public var epoch: Epoch
    /// Whether the node was registered before, so that its items are still known.
    public var wasRegistered: Bool
    /// The number of ``PartitionKeys/counter``.
    public var counter: Int64
    /// Redis's time, in milliseconds since 1970.
    public var time: Int64
    /// The first epoch since which each was followed by the next without a loss.
    public var base: UInt64

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let epoch = Epoch(reply[0].safeInteger, reply[1].safeInteger),
            let wasRegistered = reply[2].safeInteger, let counter = reply[3].safeInteger,
            let time = reply[4].safeInteger, let base = reply[5].safeInteger
        else { return nil }
        self.epoch = epoch
        self.base = UInt64(base)
        self.wasRegistered = wasRegistered == 1
        self.counter = counter
        self.time = time
    }
}

/// The reply to `heartbeat`.
public struct Heartbeat: Hashable, Sendable {
    /// The partition's epoch.
    public var epoch: Epoch
    /// Whether the node is registered; if not, its entries may have been removed.
    public var isRegistered: Bool
    /// The number of ``PartitionKeys/counter``.
    public var counter: Int64
    /// Whether the node leads the partition.
    public var leads: Bool
    /// Redis's time, in milliseconds since 1970.
    public var time: Int64
    /// Nodes whose lease has expired.
    public var dead: [String]

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let epoch = Epoch(reply[0].safeInteger, reply[1].safeInteger),
            let isRegistered = reply[2].safeInteger, let counter = reply[3].safeInteger,
            let leads = reply[4].safeInteger, let time = reply[5].safeInteger
        else { return nil }
        self.epoch = epoch
        self.isRegistered = isRegistered == 1
        self.counter = counter
        self.leads = leads == 1
        self.time = time
        var dead: [String] = []
        reply[6].forEach { dead.append($0.text) }
        self.dead = dead
    }
}

/// The reply to `condemn`.
public enum Condemnation: Hashable, Sendable {
    /// The node is alive.
    case alive
    /// Another node removes its items.
    case handledElsewhere
    /// The caller has to remove these items, and then to condemn the node again.
    case items([NodeItem])
    /// Nothing was left, and this call has removed the node.
    case forgotten
    /// The node is not known.
    case unknown

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        switch reply[0].safeInteger {
        case 0: self = .alive
        case 1: self = .handledElsewhere
        case 2:
            var items: [NodeItem] = []
            reply.forEach { element in
                if let item = NodeItem(element.text) { items.append(item) }
            }
            guard items.count == reply.count - 1 else { return nil }
            self = .items(items)
        case 3: self = .forgotten
        case 4: self = .unknown
        default: return nil
        }
    }
}

/// An item of a node.
public enum NodeItem: Hashable, Sendable {
    /// Subscriptions to a channel, and members on it.
    case channel(ClusterChannel)
    /// Connections of a signed-in user.
    case user(ClusterUser)

    /// Parses a member of a node's items; nil for another form, and for `.`, which represents the node itself.
    public init?(_ text: String) {
        let rest = Substring(text.utf8.dropFirst(2))
        if text.utf8.starts(with: "c:".utf8), let channel = ClusterChannel(id: rest) {
            self = .channel(channel)
        } else if text.utf8.starts(with: "u:".utf8), let user = ClusterUser(text: rest) {
            self = .user(user)
        } else {
            return nil
        }
    }
}

/// The reply to `positions`.
public struct StreamPositions: Hashable, Sendable {
    /// The streams up to this ID are sealed.
    public var since: UInt64
    /// The newest position of each channel; nil without a stream, and for a damaged one.
    public var newest: [StreamPosition?]
    /// Whether one of them is damaged.
    public var isDamaged = false

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let since = reply[0].safeInteger else { return nil }
        self.since = UInt64(since)
        var newest: [StreamPosition?] = []
        var nullCount = 0
        reply.forEach {
            newest.append(StreamPosition($0))
            if $0.isNull { nullCount += 1 }
        }
        self.newest = Array(newest.dropFirst())
        isDamaged = self.newest.count { $0 == nil } != nullCount
    }
}
