public import RESP

/// How publishes are acknowledged.
public enum Acknowledgement: String, Sendable {
    /// By the primary.
    case primary
    /// By some of the replicas too.
    case replica
    /// By all replicas of the store too, so that none of them lacks an acknowledged message when it is promoted.
    case all
}

/// The time in which one Redis process is a partition's primary.
public struct Epoch: Hashable, Sendable {
    /// The streams up to this ID are sealed.
    public var since: UInt64
    /// Whether no acknowledged message of the epoch before is lost.
    public var isClean: Bool

    /// Reads two numbers; nil for another form.
    fileprivate init?(_ since: Int64?, _ isClean: Int64?) {
        guard let since, let isClean else { return nil }
        self.since = UInt64(clamping: since)
        self.isClean = isClean == 1
    }
}

/// The reply to `register`.
public struct Registration: Hashable, Sendable {
    /// The partition's epoch.
    public var epoch: Epoch
    /// Whether the node was registered before, so that what it has is still known.
    public var wasRegistered: Bool
    /// The number of messages without a position.
    public var counter: Int64
    /// Redis's time, in milliseconds since 1970.
    public var time: Int64

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let epoch = Epoch(reply[0].integer, reply[1].integer),
            let wasRegistered = reply[2].integer, let counter = reply[3].integer,
            let time = reply[4].integer
        else { return nil }
        self.epoch = epoch
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
    /// The number of messages without a position.
    public var counter: Int64
    /// Whether the node leads the partition.
    public var leads: Bool
    /// Redis's time, in milliseconds since 1970.
    public var time: Int64
    /// Nodes whose lease is over.
    public var dead: [String]

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let epoch = Epoch(reply[0].integer, reply[1].integer),
            let isRegistered = reply[2].integer, let counter = reply[3].integer,
            let leads = reply[4].integer, let time = reply[5].integer
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

/// The reply to `attach`.
public struct ChannelAttachment: Hashable, Sendable {
    /// A member of a presence channel.
    public struct Member: Hashable, Sendable {
        /// The user's ID.
        public var user: String
        /// The user's info.
        public var info: [UInt8]
    }

    /// The number of subscriptions on all nodes.
    public var subscriptionCount: Int64
    /// Whether the channel had none before.
    public var wasVacant: Bool
    /// The position of the newest message; nil without a stream, or if it was not asked for.
    public var newest: StreamPosition?
    /// The position of the oldest message that is kept; nil if there is none.
    public var oldest: StreamPosition?
    /// The cached event, as it was announced; nil if there is none, or if it was not asked for.
    public var cachedEvent: [UInt8]?
    /// The members; none if they were not asked for.
    public var members: [Member]

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let count = reply[0].integer, let wasVacant = reply[1].integer else { return nil }
        subscriptionCount = count
        self.wasVacant = wasVacant == 1
        newest = reply[2].withBytes { StreamPosition($0) }
        oldest = reply[3].withBytes { StreamPosition($0) }
        cachedEvent = reply[4].isNull ? nil : reply[4].copy()
        var members: [Member] = []
        var user: String?
        reply[5].forEach { element in
            if let name = user.take() {
                members.append(Member(user: name, info: element.copy()))
            } else {
                user = element.text
            }
        }
        self.members = members
    }
}

/// The reply to `detach`.
public struct ChannelDetachment: Hashable, Sendable {
    /// The number of subscriptions on all nodes.
    public var subscriptionCount: Int64
    /// Whether the channel has lost its last one by this call.
    public var becameVacant: Bool

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let count = reply[0].integer, let becameVacant = reply[1].integer else { return nil }
        subscriptionCount = count
        self.becameVacant = becameVacant == 1
    }
}
