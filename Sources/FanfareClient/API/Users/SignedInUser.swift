public import Foundation

/// The user as whom a connection is signed in.
public struct SignedInUser: Sendable, Hashable, Identifiable {
    /// The prefix of the name of a user's own channel.
    static let channelPrefix = "#server-to-user-"

    /// The user's ID.
    public let id: String
    /// The signed user data: a JSON object with `id` and optionally `user_info` and `watchlist`, as text.
    public let data: String

    /// Parses signed user data; `nil` without an ID.
    init?(_ data: String) {
        guard let id = JSONMembers(data)?.identifier("id"), !id.isEmpty else { return nil }
        self.id = id
        self.data = data
    }

    /// Decodes the signed user data.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: The decoder, with its strategies for dates and keys.
    /// - Returns: The value.
    /// - Throws: A `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, repairing: Data(data.utf8))
    }
}
