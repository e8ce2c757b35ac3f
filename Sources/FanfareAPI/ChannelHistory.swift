#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A page of a channel's kept messages.
///
/// ``BrokerAPI/history(of:after:before:since:until:order:limit:stream:)`` returns it. The broker keeps the last
/// messages of channels in use; its `recovery` settings determine how many and how long.
public struct ChannelHistory: Equatable, Sendable {
    /// The order of the messages.
    public enum Order: String, Sendable {
        case oldest, newest
    }

    /// A kept message.
    public struct Message: Equatable, Sendable {
        /// Its number in the stream.
        public var serial: UInt64
        /// The time of its publication, with millisecond precision.
        public var time: Date
        /// The event's name.
        public var event: String
        /// The data as it was published; encrypted for an encrypted channel.
        public var data: String?
        /// The user ID of a client event on a presence channel.
        public var userID: String?
    }

    /// The position of the channel's last message: a subscription from it misses nothing.
    public var position: ChannelState.Position?
    /// The serial of the oldest kept message; `nil` when none is kept.
    public var oldest: UInt64?
    /// The messages, in the requested order.
    public var messages: [Message]
    /// Whether messages within the requested range are no longer kept.
    public var isTruncated: Bool
    /// The value for `after` on the next page, or for `before` with ``Order/newest``; `nil` on the last page.
    public var next: UInt64?
}

extension ChannelHistory.Message: Decodable {
    private enum CodingKeys: String, CodingKey {
        case serial, time, event, data
        case userID = "user_id"
    }

    /// Decodes the broker's object.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: CodingKeys.self)
        serial = try object.decode(UInt64.self, forKey: .serial)
        let milliseconds = try object.decode(Int64.self, forKey: .time)
        time = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
        event = try object.decode(String.self, forKey: .event)
        data = try object.decodeIfPresent(String.self, forKey: .data)
        userID = try object.decodeIfPresent(String.self, forKey: .userID)
    }
}

extension ChannelHistory: Decodable {
    private enum CodingKeys: String, CodingKey {
        case position, oldest, messages, next
        case isTruncated = "truncated"
    }

    /// Decodes the broker's object.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: CodingKeys.self)
        position = try object.decodeIfPresent(ChannelState.Position.self, forKey: .position)
        oldest = try object.decodeIfPresent(UInt64.self, forKey: .oldest)
        messages = try object.decode([Message].self, forKey: .messages)
        isTruncated = try object.decodeIfPresent(Bool.self, forKey: .isTruncated) ?? false
        next = try object.decodeIfPresent(UInt64.self, forKey: .next)
    }
}

extension BrokerAPI {
    /// Returns a page of a channel's kept messages.
    ///
    /// Read all messages page by page:
    ///
    /// ```swift
    /// var serial: UInt64? = 0
    /// while let after = serial {
    ///     let page = try await api.history(of: "userslist", after: after)
    ///     for message in page.messages { … }
    ///     serial = page.next
    /// }
    /// ```
    ///
    /// An extension of the Pusher HTTP API by Fanfare: other servers answer with status 404.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - after: The serial after which to begin.
    ///   - before: The serial before which to end.
    ///   - since: The earliest time of a message.
    ///   - until: The latest time of a message.
    ///   - order: Whether the oldest or the newest messages come first.
    ///   - limit: The most messages to return, at most 1,000; a page has at most 1 MiB.
    ///   - stream: The stream of the serials. If the channel now has another one, messages were lost in between, and
    ///     the call throws `.refused` with status 410.
    /// - Returns: The page, with the serial from which to continue.
    /// - Throws: A ``FanfareAPIError``; `.refused` with status 400 when the broker keeps no messages for the app.
    public func history(
        of channel: String,
        after: UInt64? = nil,
        before: UInt64? = nil,
        since: Date? = nil,
        until: Date? = nil,
        order: ChannelHistory.Order = .oldest,
        limit: Int = 100,
        stream: String? = nil
    ) async throws(FanfareAPIError) -> ChannelHistory {
        guard !channel.isEmpty else { throw .invalidArgument("The channel's name is empty") }
        guard 1...1_000 ~= limit else {
            throw .invalidArgument("The limit is \(limit); it must be 1 to 1,000")
        }
        let parameters: [(name: String, value: String?)] = [
            ("after", after.map(String.init)), ("before", before.map(String.init)),
            ("limit", String(limit)), ("order", order.rawValue), ("since", since.map(Self.time)),
            ("stream", stream), ("until", until.map(Self.time)),
        ]
        let response = try await call(
            "GET",
            "channels/\(BrokerAPI.segment(channel))/history",
            parameters: parameters.compactMap { name, value in value.map { (name, $0) } },
            retry: .idempotent
        )
        return try APIListResponse.decode(ChannelHistory.self, from: response)
    }

    /// Deletes the messages that the broker keeps for a channel, and its cached event.
    ///
    /// The channel continues in a new stream. Subscribed and reconnecting clients are notified of a gap.
    ///
    /// An extension of the Pusher HTTP API by Fanfare: other servers answer with status 404.
    ///
    /// - Parameter channel: The channel's name.
    /// - Returns: The position at the start of the new stream.
    /// - Throws: A ``FanfareAPIError``; `.refused` with status 400 when the broker keeps no messages for the app.
    @discardableResult
    public func purgeHistory(
        of channel: String
    ) async throws(FanfareAPIError) -> ChannelState.Position? {
        guard !channel.isEmpty else { throw .invalidArgument("The channel's name is empty") }
        let response = try await call(
            "DELETE",
            "channels/\(BrokerAPI.segment(channel))/history",
            // A second purge would delete messages published since the first.
            retry: .mayDuplicate
        )
        return try APIListResponse.decode(PurgedHistory.self, from: response).position
    }

    /// Returns a time in milliseconds since 1970.
    private static func time(_ date: Date) -> String {
        String(Int64((date.timeIntervalSince1970 * 1_000).rounded()))
    }
}

/// The broker's answer to a purge.
private struct PurgedHistory: Decodable {
    let position: ChannelState.Position?
}
