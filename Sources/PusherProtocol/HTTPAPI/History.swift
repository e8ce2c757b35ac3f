import Primitives

/// The query of `GET /apps/ID/channels/NAME/history`.
public struct HistoryQuery: Equatable, Sendable {
    /// The maximum number of messages of one page.
    public static let limitMax = 1_000
    /// The maximum size of the messages of one page, in bytes; a longer message is on a separate page.
    public static let lengthMax = 1 << 20

    /// Only messages after this serial.
    public var after: UInt64?
    /// Only messages before this serial.
    public var before: UInt64?
    /// Only messages from this time on, in milliseconds since 1970.
    public var since: Int64?
    /// Only messages up to this time, in milliseconds since 1970.
    public var until: Int64?
    /// Whether the newest message comes first.
    public var isNewestFirst = false
    /// The maximum number of messages in the response.
    public var limit = 100
    /// The stream that the serials belong to; another one is refused with 410.
    public var stream: StreamID?

    /// Creates a query for the oldest messages.
    public init() {}

    /// Parses the parameters of a query.
    ///
    /// - Parameter parameters: The parameters; unknown ones are ignored.
    /// - Throws: 400 with the parameter and what is expected.
    public init(_ parameters: QueryParameters) throws(APIError) {
        after = try Self.number("after", parameters, 0...ChannelPosition.serialMax)
        before = try Self.number("before", parameters, 0...ChannelPosition.serialMax)
        since = try Self.number("since", parameters, 0...Int64(1) << 53)
        until = try Self.number("until", parameters, 0...Int64(1) << 53)
        limit = try Self.number("limit", parameters, 1...Self.limitMax) ?? limit
        if let order = parameters["order"] {
            isNewestFirst = order.utf8.elementsEqual("newest".utf8)
            guard isNewestFirst || order.utf8.elementsEqual("oldest".utf8) else {
                throw .badRequest(
                    "Invalid order: \(APIError.quote(order, lengthMax: 64)) (it must be oldest or "
                        + "newest)"
                )
            }
        }
        guard let text = parameters["stream"] else { return }
        guard let stream = StreamID(text) else {
            throw .badRequest("Invalid stream: \(APIError.quote(text, lengthMax: 64))")
        }
        self.stream = stream
    }

    private static func number<Number: FixedWidthInteger>(
        _ name: String,
        _ parameters: QueryParameters,
        _ range: ClosedRange<Number>
    ) throws(APIError) -> Number? {
        guard let text = parameters[name] else { return nil }
        guard let number = Number(text), range.contains(number) else {
            throw .badRequest(
                "Invalid \(name): \(APIError.quote(text, lengthMax: 64)) "
                    + "(it must be a number from \(range.lowerBound) to \(range.upperBound))"
            )
        }
        return number
    }
}

/// One page of a channel's kept messages.
public struct HistoryPage: Sendable {
    /// A kept message.
    public struct Message: Sendable {
        /// The number of the message.
        public let serial: UInt64
        /// When it was published, in milliseconds since 1970.
        public let time: Int64
        /// The message as it was sent, with its serial.
        public let text: [UInt8]

        /// Creates a message.
        public init(serial: UInt64, time: Int64, text: [UInt8]) {
            self.serial = serial
            self.time = time
            self.text = text
        }
    }

    /// The position of the channel's last message.
    public let position: ChannelPosition
    /// The serial of the oldest kept message; that of the next one if none is kept.
    public let oldest: UInt64
    /// The messages, in the order of the query.
    public let messages: [Message]
    /// Whether there are more messages after the last one.
    public let hasMore: Bool
    /// Whether messages are left out because their stored data is damaged.
    public let isDamaged: Bool

    /// Creates a page.
    public init(
        _ position: ChannelPosition,
        oldest: UInt64,
        messages: [Message],
        hasMore: Bool,
        isDamaged: Bool = false
    ) {
        self.position = position
        self.oldest = oldest
        self.messages = messages
        self.hasMore = hasMore
        self.isDamaged = isDamaged
    }
}

extension APIAnswer {
    /// The response to a query of a channel's kept messages.
    ///
    /// `position` is that of the last message, in the form for backends.
    public static func history(
        _ page: HistoryPage,
        at position: ChannelPosition,
        of query: HistoryQuery
    ) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("position")
        json.position(position)
        json.name("oldest")
        json.integer(Int(page.oldest))
        json.name("messages")
        json.beginArray()
        for message in page.messages { write(message, to: &json) }
        json.endArray()
        if page.hasMore, let last = page.messages.last {
            json.name("next")
            json.integer(Int(last.serial))
        }
        if page.isDamaged || query.after.map({ $0 + 1 < page.oldest }) == true {
            json.name("truncated")
            json.boolean(true)
        }
        json.endObject()
        return json.bytes
    }

    /// The response to a purge: `{"position":{…}}` of the new stream; `null` if a reload has turned recovery off.
    public static func purged(_ position: ChannelPosition?) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("position")
        json.position(position)
        json.endObject()
        return json.bytes
    }

    private static func write(_ message: HistoryPage.Message, to json: inout JSONWriter) {
        guard
            let members = try? MessageMembers(
                message.text.span,
                depthMax: JSONScanner.depthMaxDefault
            )
        else { return }
        json.beginObject()
        json.name("serial")
        json.integer(Int(message.serial))
        json.name("time")
        json.integer(Int(message.time))
        for (name, value) in [
            ("event", members.event), ("data", members.data), ("user_id", members.userID),
        ] {
            guard let value else { continue }
            json.name(name)
            json.verbatim(value.token(in: message.text.span))
        }
        json.endObject()
    }
}

extension JSONWriter {
    /// Writes a position as an object, or null.
    mutating func position(_ position: ChannelPosition?) {
        guard let position else { return null() }
        beginObject()
        position.writeMembers(to: &self)
        endObject()
    }
}
