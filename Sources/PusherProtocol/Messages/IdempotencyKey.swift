import Primitives

/// The key of an event, under which its publisher may repeat it: the broker publishes it once.
///
/// The publisher chooses it, for example a UUID. It is unique on a channel for the app's `idempotency_age`. Keys are
/// compared by bytes, as Redis and SQLite compare them.
public struct IdempotencyKey: Sendable {
    /// The longest key, in code points; in UTF-8 that is at most four times as many bytes.
    public static let lengthMax = 128

    /// The key.
    public let text: String

    /// Creates a key; `nil` for an empty or too long one.
    public init?(_ text: String) {
        // The bytes first: the characters of a text that is too long are not counted.
        guard !text.isEmpty, text.utf8.count <= 4 * Self.lengthMax,
            text.unicodeScalars.count <= Self.lengthMax
        else { return nil }
        self.text = text
    }

    /// The key of one event of a batch that has a key, with the event's index appended; throws 400 if that is too long.
    package func ofEvent(_ index: Int) throws(APIError) -> IdempotencyKey {
        guard let key = IdempotencyKey("\(text):\(index)") else { throw .invalidIdempotencyKey }
        return key
    }
}

extension IdempotencyKey: Hashable {
    /// Whether two keys have the same bytes.
    public static func == (left: IdempotencyKey, right: IdempotencyKey) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        text.withUTF8Bytes { $0.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }
}
