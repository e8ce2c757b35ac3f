import Primitives
public import RESP

/// The reply to `timers`.
public struct DueWork: Hashable, Sendable {
    /// Due work that needs its own call.
    public enum Item: Hashable, Sendable {
        /// ``PartitionCalls/announceCount(of:_:)``
        case count(ClusterChannel)
        /// ``PartitionCalls/trim(_:age:interval:)``
        case trim(ClusterChannel)
        /// ``PartitionCalls/announceOffline(_:)``
        case offline(ClusterUser)

        /// Whether it removes old messages.
        public var isTrim: Bool {
            if case .trim = self { true } else { false }
        }

        /// Parses an entry; nil for another form.
        init?(_ text: String) {
            let rest = Substring(text.utf8.dropFirst(2))
            switch String(Substring(text.utf8.prefix(2))) {
            case "#:":
                guard let channel = ClusterChannel(id: rest) else { return nil }
                self = .count(channel)
            case "t:":
                guard let channel = ClusterChannel(id: rest) else { return nil }
                self = .trim(channel)
            case "o:":
                guard let user = ClusterUser(text: rest) else { return nil }
                self = .offline(user)
            default: return nil
            }
        }
    }

    /// The due work; with 64 items, the call has to be repeated.
    public var items: [Item]
    /// The webhooks that have not been read, in order; with 64, the call has to be repeated.
    public var webhooks: [WebhookRecord]
    /// The number of webhooks that wait.
    public var waitingCount: Int64
    /// The number of webhooks that were dropped since the data exists.
    public var droppedCount: Int64

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let waiting = reply[2].clampedCount, let dropped = reply[3].clampedCount else {
            return nil
        }
        (waitingCount, droppedCount) = (waiting, dropped)
        var items: [Item] = []
        reply[0].forEach { element in
            if let item = Item(element.text) { items.append(item) }
        }
        self.items = items
        var webhooks: [WebhookRecord] = []
        var id: StreamPosition?
        reply[1].forEach { element in
            guard let position = id.take() else {
                id = StreamPosition(element)
                return
            }
            if let record = element.withBytes({ WebhookRecord(position, $0) }) {
                webhooks.append(record)
            }
        }
        self.webhooks = webhooks
        guard items.count == reply[0].count, webhooks.count * 2 == reply[1].count else {
            return nil
        }
    }
}

/// A webhook that waits.
public struct WebhookRecord: Hashable, Sendable {
    /// The event that it reports.
    public enum Kind: String, Sendable {
        /// The channel has become occupied.
        case occupied
        /// The channel has become vacant.
        case vacated
        /// A user has become a member; the rest is the user's ID.
        case added
        /// A user is no longer a member; the rest is the user's ID.
        case removed
        /// A subscription has found no cached event.
        case miss
        /// The number of subscriptions, which is the rest.
        case count
        /// A client event; the rest is the body that was published with it.
        case client
    }

    /// Its position in the queue, which is unique in the partition.
    public var id: StreamPosition
    /// The event that it reports.
    public var kind: Kind
    /// When it happened, in milliseconds since 1970.
    public var time: Int64
    /// The channel.
    public var channel: ClusterChannel
    /// Further data of the kind.
    public var rest: [UInt8]

    /// Parses an entry; nil for another form.
    init?(_ id: StreamPosition, _ text: Span<UInt8>) {
        let words = text.copy().split(
            separator: UInt8(ascii: " "),
            maxSplits: 3,
            omittingEmptySubsequences: false
        )
        guard words.count >= 3,
            let kind = Kind(rawValue: String(decoding: words[0], as: UTF8.self)),
            let time = Int64(safe: Array(words[1]).span),
            let channel = ClusterChannel(id: String(decoding: words[2], as: UTF8.self))
        else { return nil }
        self.id = id
        self.kind = kind
        self.time = time
        self.channel = channel
        rest = words.count == 4 ? Array(words[3]) : []
    }
}
