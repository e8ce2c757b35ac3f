#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

import PusherProtocol

/// An attribute of a channel that a query can request.
public enum ChannelAttribute: String, CaseIterable, Hashable, Sendable {
    /// The number of users on a presence channel.
    case userCount = "user_count"
    /// The number of subscribed connections, if counting is enabled for the app.
    case subscriptionCount = "subscription_count"
    /// The last event of a cache channel; only in queries of a single channel.
    case cache
    /// The position of the channel's last message, or of the triggered event; not in lists of channels.
    case position

    /// Returns the attributes in the form of a query, always in the same order.
    static func list(_ attributes: Set<ChannelAttribute>) -> String {
        attributes.map(\.rawValue).sorted().joined(separator: ",")
    }
}

/// The state of a channel; attributes that were not requested or do not apply are `nil`.
public struct ChannelState: Equatable, Sendable, Decodable {
    /// The last event of a cache channel.
    public struct CachedEvent: Equatable, Sendable, Decodable {
        /// The data as it was published.
        public var data: String
        /// The time for which the event stays cached, in seconds.
        public var ttl: Int
    }

    /// The position of a message in the channel's stream.
    public struct Position: Hashable, Sendable, Codable {
        /// The ID of the stream; a different ID means that messages were lost in between.
        public var stream: String
        /// The number of the message, from 1; 0 before the first.
        public var serial: UInt64

        /// Creates a position, for example from stored values.
        public init(stream: String, serial: UInt64) {
            self.stream = stream
            self.serial = serial
        }
    }

    /// Whether the channel has subscribers; always true in a list.
    public var isOccupied: Bool
    /// The number of users on a presence channel.
    public var userCount: Int?
    /// The number of subscribed connections.
    public var subscriptionCount: Int?
    /// The last event of a cache channel; also `nil` when there is none.
    public var cache: CachedEvent?
    /// The position of the last message, or of the triggered event; also `nil` when the broker keeps no messages.
    public var position: Position?

    private enum CodingKeys: String, CodingKey {
        case isOccupied = "occupied"
        case userCount = "user_count"
        case subscriptionCount = "subscription_count"
        case cache, position
    }

    /// Decodes the broker's object.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: CodingKeys.self)
        isOccupied = try object.decodeIfPresent(Bool.self, forKey: .isOccupied) ?? true
        userCount = try object.decodeIfPresent(Int.self, forKey: .userCount)
        subscriptionCount = try object.decodeIfPresent(Int.self, forKey: .subscriptionCount)
        cache = try object.decodeIfPresent(CachedEvent.self, forKey: .cache)
        position = try object.decodeIfPresent(Position.self, forKey: .position)
    }
}

/// A page of the list of channels; see ``BrokerAPI/channels(prefix:info:limit:after:)``.
public struct ChannelPage: Equatable, Sendable {
    /// The requested attributes by channel.
    public var channels: [String: ChannelState]
    /// The cursor of the next page; `nil` on the last page.
    public var nextCursor: String?
}

/// The responses with several channels, events or users; members that were not requested are missing.
struct APIListResponse: Decodable {
    struct User: Decodable { var id: String }

    var channels: [String: ChannelState]?
    var batch: [ChannelState]?
    var nextCursor: String?
    var users: [User]?

    enum CodingKeys: String, CodingKey {
        case channels, batch, users
        case nextCursor = "next_cursor"
    }

    /// Decodes the content of a 200 response.
    static func decode<Value: Decodable>(
        _ type: Value.Type,
        from body: [UInt8]
    ) throws(FanfareAPIError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            // An event of a history may be text that was cut inside an emoji.
            if let repaired = JSONEscapes.repaired(body),
                let value = try? JSONDecoder().decode(type, from: Data(repaired))
            {
                return value
            }
            let beginning = String(decoding: body.prefix(120), as: UTF8.self)
            throw .unexpectedAnswer("status 200 with the content \(beginning.debugDescription)")
        }
    }
}
