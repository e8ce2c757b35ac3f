import Primitives
public import RESP

/// The position of a message in a stream of its channel.
public struct StreamPosition: Hashable, Sendable, CustomStringConvertible {
    /// The stream's ID: the time of its beginning in milliseconds, or a later time.
    public var stream: UInt64
    /// The number of the message; 0 for the beginning.
    public var serial: UInt64

    /// Makes a position.
    public init(stream: UInt64, serial: UInt64) {
        self.stream = stream
        self.serial = serial
    }

    /// Parses the ID of a stream's entry; nil for another form.
    init?(_ text: Span<UInt8>) {
        guard let dash = text.firstIndex(of: UInt8(ascii: "-")),
            let stream = UInt64(safe: text.extracting(..<dash)),
            let serial = UInt64(safe: text.extracting((dash + 1)...))
        else { return nil }
        self.init(stream: stream, serial: serial)
    }

    /// Reads a position in a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let position = reply.withBytes({ StreamPosition($0) }) else { return nil }
        self = position
    }

    /// The ID of the stream's entry in Redis.
    public var description: String { "\(stream)-\(serial)" }
}

/// A message to number, store and announce.
public struct ClusterMessage: Sendable {
    /// What the publisher knows about the channel's stream.
    public enum Stream: Hashable, Sendable {
        /// The channel is not recoverable: its messages have no positions.
        case none
        /// The channel is recoverable, and may have a stream.
        case unknown
        /// The ID of the current stream.
        case id(UInt64)
    }

    /// The data by which a repetition of the message is recognised.
    public struct Idempotency: Hashable, Sendable {
        /// The key; it belongs to the app.
        public var key: String
        /// The digest of the content.
        public var digest: String
        /// The time for which the key is remembered, in seconds; at least 1.
        public var age: Int
        /// The maximum number of keys of the app in the channel's pool, at least 1; above it the oldest are forgotten.
        public var keysMax: Int

        /// Makes the mark of a message.
        public init(key: String, digest: String, age: Int, keysMax: Int = 100_000) {
            self.key = key
            self.digest = digest
            self.age = age
            self.keysMax = keysMax
        }
    }

    /// The limits of a pool of partitions, above which the oldest entries are dropped.
    public struct Budgets: Hashable, Sendable {
        /// The size of the app's messages, in bytes; nil for no limit of the app.
        public var appBytesMax: Int?
        /// The size of all messages, in bytes; nil for no limit.
        public var bytesMax: Int?
        /// The number of streams of the app's channels without subscriptions.
        public var positionsMax: Int

        /// Makes budgets.
        public init(appBytesMax: Int? = nil, bytesMax: Int? = nil, positionsMax: Int = 100_000) {
            self.appBytesMax = appBytesMax
            self.bytesMax = bytesMax
            self.positionsMax = positionsMax
        }

        // 0 stands for no limit.
        var text: String {
            "\(appBytesMax.map { max($0, 1) } ?? 0) \(bytesMax.map { max($0, 1) } ?? 0) \(positionsMax)"
        }
    }

    /// The limits of an app's cached events.
    public struct Caching: Hashable, Sendable {
        /// The time for which the event is cached, in seconds; at least 1.
        public var lifetime: Int
        /// The maximum number of cached events of the app in this partition, at least 1; those that expire first are
        /// removed.
        public var eventsMax: Int

        /// Makes limits.
        public init(lifetime: Int, eventsMax: Int) {
            self.lifetime = lifetime
            self.eventsMax = eventsMax
        }
    }

    /// The channel.
    public var channel: ClusterChannel
    /// The known stream of the channel; ignored by `open`.
    public var stream: Stream
    /// The approximate maximum number of messages that the stream keeps.
    public var lengthMax: Int
    /// The limits of the channel's pool.
    public var budgets: Budgets
    /// `KIND EXCEPT TIME BODY`.
    public var entry: [UInt8]
    /// The data that identifies a repetition; nil if none is recognised.
    public var idempotency: Idempotency?
    /// How long this is the channel's cached event; nil if it is not cached.
    public var caching: Caching?
    /// The body of the webhook that reports it; nil if none does.
    public var webhook: [UInt8]?
    /// The last position of the channel that is required for publishing; nil for any.
    public var expected: StreamPosition?

    /// Makes a message.
    public init(
        on channel: ClusterChannel,
        in stream: Stream,
        lengthMax: Int,
        budgets: Budgets = Budgets(),
        entry: [UInt8],
        idempotency: Idempotency? = nil,
        caching: Caching? = nil,
        webhook: [UInt8]? = nil,
        ifLastIs expected: StreamPosition? = nil
    ) {
        self.channel = channel
        self.stream = stream
        self.lengthMax = lengthMax
        self.budgets = budgets
        self.entry = entry
        self.idempotency = idempotency
        self.caching = caching
        self.webhook = webhook
        self.expected = expected
    }

    var keyCount: Int { 2 + (idempotency == nil ? 0 : 1) + (caching == nil ? 0 : 3) }
    var argumentCount: Int {
        5 + (idempotency == nil ? 0 : 3) + (caching == nil ? 0 : 3) + (webhook == nil ? 0 : 2)
            + (expected == nil ? 0 : 1)
    }

    func writeKeys(of partition: PartitionKeys, to writer: inout RESPWriter) {
        writer.argument(partition.messages(channel))
        writer.argument(partition.announcements(channel))
        if let key = idempotency?.key {
            writer.argument(partition.idempotency(channel.app, key))
        }
        if caching != nil {
            writer.argument(partition.cachedEvents(channel.app))
            writer.argument(partition.cachedEventExpiries(channel.app))
            writer.argument(partition.cacheMiss(channel))
        }
    }

    func writeArguments(to writer: inout RESPWriter) {
        writer.argument(
            (idempotency == nil ? "" : "i") + (caching == nil ? "" : "k")
                + (webhook == nil ? "" : "w") + (expected == nil ? "" : "c")
        )
        switch stream {
        case .none: writer.argument(literal: "")
        case .unknown: writer.argument(literal: "-")
        case .id(let id): writer.argument(Int(id))
        }
        writer.argument(lengthMax)
        writer.argument(budgets.text)
        writer.argument(entry)
        if let idempotency {
            writer.argument(idempotency.digest)
            writer.argument(idempotency.age)
            writer.argument(idempotency.keysMax)
        }
        if let caching {
            writer.argument(channel.name)
            writer.argument(caching.lifetime)
            writer.argument(caching.eventsMax)
        }
        if let webhook {
            writer.argument(channel.id)
            writer.argument(webhook)
        }
        if let expected { writer.argument(expected.description) }
    }
}

/// What was dropped for the messages of a call because a budget was exceeded.
public struct PublishEvictions: Hashable, Sendable {
    /// The number of messages, for the budgets of apps.
    public var messagesOfApps: Int
    /// The number of messages, for the budget of all.
    public var messagesOfAll: Int
    /// The number of idempotency keys.
    public var keys: Int
    /// The number of streams of channels without subscriptions.
    public var streams: Int
    /// The number of cached events.
    public var cachedEvents: Int

    /// Reads the element after the outcomes of the messages; nil for another form.
    public init?(_ element: borrowing RESPView) {
        guard element.kind == .array, element.count == 5, let ofApps = element[0].integer,
            let ofAll = element[1].integer, let keys = element[2].integer,
            let streams = element[3].integer, let cachedEvents = element[4].integer
        else { return nil }
        messagesOfApps = Int(clamping: ofApps)
        messagesOfAll = Int(clamping: ofAll)
        self.keys = Int(clamping: keys)
        self.streams = Int(clamping: streams)
        self.cachedEvents = Int(clamping: cachedEvents)
    }
}

/// The outcome of a message.
public enum PublishOutcome: Hashable, Sendable {
    /// Announced without a position: the channel has no stream.
    case counted
    /// Announced with this serial, in the stream that the publisher named.
    case numbered(serial: UInt64)
    /// Announced at this position, in a stream that the publisher did not name.
    case placed(StreamPosition)
    /// Published before, with the same idempotency key, at this position; nil if it has none.
    case repeated(StreamPosition?)
    /// Not published: the channel's last position is this one instead of the expected one; nil without a stream.
    case outdated(StreamPosition?)
    /// Not published: the stream has ended.
    ///
    /// The message has to be repeated by `open`, with all later messages on the channel.
    case stale
    /// Not published.
    case refused(RedisError)

    /// Reads an element of the reply to `publish` or `open`; nil for another form.
    public init?(_ element: borrowing RESPView) {
        if let error = RedisError(element) {
            self = .refused(error)
        } else if element.isNull {
            self = .stale
        } else if element.kind == .array {
            let position = element[0].withBytes { StreamPosition($0) }
            guard position != nil || element[0].equals("-") else { return nil }
            self = element.count == 2 ? .outdated(position) : .repeated(position)
        } else if element.kind == .integer, let serial = element.safeInteger {
            self = serial == 0 ? .counted : .numbered(serial: UInt64(serial))
        } else if let position = element.withBytes({ StreamPosition($0) }) {
            self = .placed(position)
        } else {
            return nil
        }
    }
}
