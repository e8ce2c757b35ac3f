#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The user whom a connection is signed in as.
public struct SignedInUser: Sendable, Hashable, Identifiable {
    /// What the name of a user's own channel begins with.
    static let channelPrefix = "#server-to-user-"

    /// The user's id.
    public let id: String
    /// What the backend has signed: an object with `id` and perhaps `user_info` and `watchlist`, as JSON text.
    public let data: String

    /// Reads what a backend has signed; `nil` without an id.
    public init?(_ data: String) {
        guard let id = JSONMembers(data)?.identifier("id"), !id.isEmpty else { return nil }
        self.id = id
        self.data = data
    }

    /// Decodes what the backend has signed.
    ///
    /// - Parameters:
    ///   - type: What to make of it.
    ///   - decoder: Decides on dates, keys and so on.
    /// - Returns: The value.
    /// - Throws: A `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data(data.utf8))
    }
}
