/// What the HTTP API says about one channel; what is `nil` was not asked for.
public struct ChannelAttributes: Equatable, Sendable {
    /// What a cache channel holds.
    public enum Cache: Equatable, Sendable {
        /// No event, or none that is still good.
        case empty
        /// The data of the last event as a JSON string with its quotes, and for how many seconds it stays.
        case event(dataToken: [UInt8], secondsLeft: Int)
    }

    /// Whether anybody is subscribed.
    public var isOccupied: Bool?
    /// How many members a presence channel has.
    public var userCount: Int?
    /// How many connections are subscribed.
    public var subscriptionCount: Int?
    /// What the channel remembers.
    public var cache: Cache?

    /// Takes what is known.
    ///
    /// - Parameters:
    ///   - isOccupied: Whether anybody is subscribed.
    ///   - userCount: How many members a presence channel has.
    ///   - subscriptionCount: How many connections are subscribed.
    ///   - cache: What the channel remembers.
    public init(
        isOccupied: Bool? = nil,
        userCount: Int? = nil,
        subscriptionCount: Int? = nil,
        cache: Cache? = nil
    ) {
        self.isOccupied = isOccupied
        self.userCount = userCount
        self.subscriptionCount = subscriptionCount
        self.cache = cache
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.beginObject()
        if let isOccupied {
            json.name("occupied")
            json.boolean(isOccupied)
        }
        if let userCount {
            json.name("user_count")
            json.integer(userCount)
        }
        if let subscriptionCount {
            json.name("subscription_count")
            json.integer(subscriptionCount)
        }
        switch cache {
        case .empty:
            json.name("cache")
            json.null()
        case .event(let dataToken, let secondsLeft):
            json.name("cache")
            json.beginObject()
            json.name("data")
            json.verbatim(dataToken)
            json.name("ttl")
            json.integer(secondsLeft)
            json.endObject()
        case nil: break
        }
        json.endObject()
    }
}

/// The contents of the HTTP API's 200 responses: always a JSON object, since the PHP library takes nothing else.
public enum APIAnswer {
    /// Nothing to say: `{}`.
    public static let empty = Array("{}".utf8)

    /// The answer to a trigger with `info`: `{"channels":{"NAME":{…}}}`.
    public static func channels(
        _ channels: [(name: ChannelName, attributes: ChannelAttributes)]
    ) -> [UInt8] {
        var list = ChannelList()
        for (name, attributes) in channels { list.append(name, attributes) }
        return list.end()
    }

    /// The answer to a list of channels, written one channel after the other: `{"channels":{"NAME":{…}}}`.
    public struct ChannelList: Sendable {
        private var json = JSONWriter()

        /// Begins a list without channels.
        public init() {
            json.beginObject()
            json.name("channels")
            json.beginObject()
        }

        /// The bytes written so far.
        public var length: Int { json.bytes.count }

        /// Reserves memory for a list of this length in bytes, which it then has not to be copied to.
        public mutating func reserveCapacity(_ length: Int) { json.reserveCapacity(length) }

        /// Appends a channel.
        public mutating func append(_ name: ChannelName, _ attributes: ChannelAttributes) {
            json.name(name.text)
            attributes.write(to: &json)
        }

        /// Ends the list.
        ///
        /// - Parameter nextCursor: Where a list that was cut short goes on; written as `next_cursor`.
        /// - Returns: The content of the response.
        public consuming func end(nextCursor: String? = nil) -> [UInt8] {
            json.endObject()
            if let nextCursor {
                json.name("next_cursor")
                json.string(nextCursor)
            }
            json.endObject()
            return json.bytes
        }
    }

    /// The answer to a batch: one object an event, in the order of the request; `{}` when none asked for anything.
    public static func batch(_ events: [ChannelAttributes?]) -> [UInt8] {
        guard events.contains(where: { $0 != nil }) else { return empty }
        var json = JSONWriter()
        json.beginObject()
        json.name("batch")
        json.beginArray()
        for attributes in events { (attributes ?? ChannelAttributes()).write(to: &json) }
        json.endArray()
        json.endObject()
        return json.bytes
    }

    /// The answer about one channel.
    public static func channel(_ attributes: ChannelAttributes) -> [UInt8] {
        var json = JSONWriter()
        attributes.write(to: &json)
        return json.bytes
    }

    /// The answer about the users of a presence channel: `{"users":[{"id":"…"}]}`.
    public static func users(_ ids: [String]) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("users")
        json.beginArray()
        for id in ids {
            json.beginObject()
            json.name("id")
            json.string(id)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}
