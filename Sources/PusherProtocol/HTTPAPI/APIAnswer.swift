/// The attributes of one channel in a response of the HTTP API; `nil` for those that were not requested.
public struct ChannelAttributes: Equatable, Sendable {
    /// The content of a cache channel.
    public enum Cache: Equatable, Sendable {
        /// No event, or only an expired one.
        case empty
        /// The data of the last event as a JSON string, including quotes, and its remaining lifetime in seconds.
        case event(dataToken: [UInt8], secondsLeft: Int)
    }

    /// Whether the channel has subscribers.
    public var isOccupied: Bool?
    /// The number of members of a presence channel.
    public var userCount: Int?
    /// The number of subscribed connections.
    public var subscriptionCount: Int?
    /// The cached event.
    public var cache: Cache?
    /// The position of the last message; the inner `nil` means an app without recovery.
    public var position: ChannelPosition??

    /// Creates the attributes of a channel.
    public init(
        isOccupied: Bool? = nil,
        userCount: Int? = nil,
        subscriptionCount: Int? = nil,
        cache: Cache? = nil,
        position: ChannelPosition?? = nil
    ) {
        self.position = position
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
        if let position {
            json.name("position")
            json.position(position)
        }
        json.endObject()
    }
}

/// The contents of the HTTP API's 200 responses: always a JSON object, because the PHP library accepts nothing else.
public enum APIAnswer {
    /// The empty response: `{}`.
    public static let empty = Array("{}".utf8)
    /// The response to a trigger whose events were published before: `{"repeated":true}`.
    public static let repeated = Array(#"{"repeated":true}"#.utf8)

    /// The response to a trigger with `info`: `{"channels":{"NAME":{…}}}`.
    ///
    /// If the event was published before, `"repeated":true` follows.
    public static func channels(
        _ channels: [(name: ChannelName, attributes: ChannelAttributes)],
        isRepeated: Bool = false
    ) -> [UInt8] {
        var list = ChannelList()
        for (name, attributes) in channels { list.append(name, attributes) }
        return list.end(isRepeated: isRepeated)
    }

    /// The response to a list of channels, written incrementally: `{"channels":{"NAME":{…}}}`.
    public struct ChannelList: Sendable {
        private var json = JSONWriter()

        /// Begins an empty list.
        public init() {
            json.beginObject()
            json.name("channels")
            json.beginObject()
        }

        /// The bytes written so far.
        public var length: Int { json.bytes.count }

        /// Reserves capacity for a list of this length in bytes, which avoids copies as it grows.
        public mutating func reserveCapacity(_ length: Int) { json.reserveCapacity(length) }

        /// Appends a channel.
        public mutating func append(_ name: ChannelName, _ attributes: ChannelAttributes) {
            json.name(name.text)
            attributes.write(to: &json)
        }

        /// Ends the list, and returns the content of the response.
        ///
        /// - Parameters:
        ///   - nextCursor: Where a truncated list continues; written as `next_cursor`.
        ///   - isRepeated: Whether the answered trigger was published before; written as `repeated`.
        /// - Returns: The content.
        public consuming func end(nextCursor: String? = nil, isRepeated: Bool = false) -> [UInt8] {
            json.endObject()
            json.repeated(isRepeated)
            if let nextCursor {
                json.name("next_cursor")
                json.string(nextCursor)
            }
            json.endObject()
            return json.bytes
        }
    }

    /// The response to a batch: one object for each event, in the order of the request.
    ///
    /// It is `{}` when no event requested attributes. If all events were published before, `"repeated":true` follows.
    public static func batch(_ events: [ChannelAttributes?], isRepeated: Bool = false) -> [UInt8] {
        guard events.contains(where: { $0 != nil }) else { return isRepeated ? repeated : empty }
        var json = JSONWriter()
        json.beginObject()
        json.name("batch")
        json.beginArray()
        for attributes in events { (attributes ?? ChannelAttributes()).write(to: &json) }
        json.endArray()
        json.repeated(isRepeated)
        json.endObject()
        return json.bytes
    }

    /// The response to a query of one channel.
    public static func channel(_ attributes: ChannelAttributes) -> [UInt8] {
        var json = JSONWriter()
        attributes.write(to: &json)
        return json.bytes
    }

    /// The response to a query of a presence channel's users: `{"users":[{"id":"…"}]}`.
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

extension JSONWriter {
    /// Writes `"repeated":true` if the events of a trigger were published before.
    fileprivate mutating func repeated(_ isRepeated: Bool) {
        guard isRepeated else { return }
        name("repeated")
        boolean(true)
    }
}
