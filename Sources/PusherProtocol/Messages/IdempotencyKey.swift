/// The key of an event, under which its publisher may repeat it: the broker publishes it once.
///
/// The publisher chooses it, as a UUID for example. It is unique on a channel for the app's `idempotency_age`.
public struct IdempotencyKey: Hashable, Sendable {
    /// The longest key, in characters.
    public static let lengthMax = 128

    /// The key.
    public let text: String

    /// Creates a key; `nil` for an empty or too long one.
    public init?(_ text: String) {
        guard !text.isEmpty, text.count <= Self.lengthMax else { return nil }
        self.text = text
    }

    /// The key of one event of a batch that has a key.
    ///
    /// - Parameter index: The event's index in the batch.
    /// - Returns: The key with the index behind it.
    /// - Throws: 400 if that is too long.
    package func ofEvent(_ index: Int) throws(APIError) -> IdempotencyKey {
        guard let key = IdempotencyKey("\(text):\(index)") else { throw .invalidIdempotencyKey }
        return key
    }
}
