#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a broker can tell about a channel.
public enum ChannelAttribute: String, CaseIterable, Hashable, Sendable {
    /// How many users are on a presence channel.
    case userCount = "user_count"
    /// How many connections are subscribed, if the app has counting switched on.
    case subscriptionCount = "subscription_count"
    /// The last event of a cache channel; of a single channel only.
    case cache

    /// The attributes as a query writes them, always in the same order.
    static func list(_ attributes: Set<ChannelAttribute>) -> String {
        attributes.map(\.rawValue).sorted().joined(separator: ",")
    }
}

/// What a broker told about a channel; what was not asked for, or does not apply, is `nil`.
public struct ChannelState: Equatable, Sendable, Decodable {
    /// The last event of a cache channel.
    public struct CachedEvent: Equatable, Sendable, Decodable {
        /// The data as it was published.
        public var data: String
        /// For how many seconds it is kept.
        public var ttl: Int
    }

    /// Whether anybody is subscribed; a list holds occupied channels only.
    public var isOccupied: Bool
    /// How many users are on a presence channel.
    public var userCount: Int?
    /// How many connections are subscribed.
    public var subscriptionCount: Int?
    /// The last event of a cache channel; `nil` also when there is none.
    public var cache: CachedEvent?

    private enum CodingKeys: String, CodingKey {
        case isOccupied = "occupied"
        case userCount = "user_count"
        case subscriptionCount = "subscription_count"
        case cache
    }

    /// Reads the object that a broker sends.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: CodingKeys.self)
        isOccupied = try object.decodeIfPresent(Bool.self, forKey: .isOccupied) ?? true
        userCount = try object.decodeIfPresent(Int.self, forKey: .userCount)
        subscriptionCount = try object.decodeIfPresent(Int.self, forKey: .subscriptionCount)
        cache = try object.decodeIfPresent(CachedEvent.self, forKey: .cache)
    }
}

/// A part of the list of channels; see ``FanfareAPI/channels(prefix:info:limit:after:)``.
public struct ChannelPage: Equatable, Sendable {
    /// What was asked for, by name.
    public var channels: [String: ChannelState]
    /// Where the next page begins; `nil` on the last one.
    public var nextCursor: String?
}

/// The answers with several channels or events; a member that was not asked for is absent.
struct APIAnswers: Decodable {
    struct User: Decodable { var id: String }

    var channels: [String: ChannelState]?
    var batch: [ChannelState]?
    var nextCursor: String?
    var users: [User]?

    enum CodingKeys: String, CodingKey {
        case channels, batch, users
        case nextCursor = "next_cursor"
    }

    /// Reads the content of a 200 response.
    static func decode<Answer: Decodable>(
        _ type: Answer.Type,
        from body: [UInt8]
    ) throws(FanfareAPIError) -> Answer {
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            let beginning = String(decoding: body.prefix(120), as: UTF8.self)
            throw .unexpectedAnswer("status 200 with the content \(beginning.debugDescription)")
        }
    }
}
