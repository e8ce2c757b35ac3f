import Digests
import Primitives

/// The session token in the connection URL of a stock client, by which the broker keeps the client's positions.
///
/// The positions are kept over all connections with the token.
///
/// `TIME-RANDOM`: the time of its creation in milliseconds since 1970 in base 36, as written by
/// `Date.now().toString(36)`, and 16 to 64 random characters. It authorizes nothing. The broker keeps only a digest of
/// it (``SessionKey``). `.new` follows it in the URL until the client is connected for the first time, if the client can
/// say so.
public struct SessionToken: Sendable {
    /// The time of its creation by the client's clock, in milliseconds since 1970.
    public let createdAt: Int64
    /// Whether the client says that no connection with the token was ever established.
    ///
    /// Then nothing can be missing, whatever the time.
    public let isUnused: Bool
    private let bytes: [UInt8]
    private static let unusedMark: StaticString = ".new"

    /// The permitted lengths of the random part, in characters.
    public static let randomLengths = 16...64
    /// The maximum number of digits of the time.
    static let timeLengthMax = 11

    /// Validates a token; throws the violated rule.
    public init(validating marked: Span<UInt8>) throws(SessionTokenError) {
        let length = marked.count - Self.unusedMark.utf8CodeUnitCount
        isUnused =
            length >= 0 && marked.extracting(length..<marked.count).starts(with: Self.unusedMark)
        let text = isUnused ? marked.extracting(0..<length) : marked
        let dash = text.firstIndex(of: UInt8(ascii: "-")) ?? text.count
        guard dash < text.count, (1...Self.timeLengthMax).contains(dash) else { throw .time }
        var time: Int64 = 0
        for index in 0..<dash {
            guard let digit = Self.digit(text[index]) else { throw .time }
            time = time * 36 + digit
        }
        let random = text.extracting(dash + 1..<text.count)
        guard Self.randomLengths.contains(random.count) else { throw .length(random.count) }
        for index in random.indices {
            switch random[index] {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                break
            default: throw .character
            }
        }
        createdAt = time
        bytes = text.withUnsafeBufferPointer { Array($0) }
    }

    /// Validates a token; throws the violated rule.
    public init(_ text: String) throws(SessionTokenError) {
        try self.init(validating: Array(text.utf8).span)
    }

    /// The key of the session in an app: the same token in two apps names two sessions.
    public func key(inApp app: String) -> SessionKey {
        // An app ID contains no NUL.
        SessionKey(digest: Digest.sha256((Array(app.utf8) + [0] + bytes).span))
    }

    private static func digit(_ byte: UInt8) -> Int64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int64(byte - UInt8(ascii: "a")) + 10
        default: nil
        }
    }
}

extension SessionToken: CustomStringConvertible {
    /// A placeholder, because a token must not be logged.
    public var description: String { "a session token" }
}

/// Why a session token is malformed.
///
/// The description does not contain the token.
public enum SessionTokenError: Error, Equatable, Sendable {
    /// It does not begin with a time and a dash.
    case time
    /// The random part is too short or too long.
    case length(Int)
    /// The random part has another character.
    case character
}

extension SessionTokenError: CustomStringConvertible {
    /// The fault, and what is expected.
    public var description: String {
        switch self {
        case .time:
            "Invalid session token: it must begin with its creation time (milliseconds since 1970, "
                + "in base 36) and a dash"
        case .length(let length):
            "Invalid session token: 16 to 64 characters must follow the dash, not \(length)"
        case .character:
            "Invalid session token: only letters, digits, '_' and '-' may follow the dash"
        }
    }
}

/// The first 16 bytes of the SHA-256 digest of an app and a session token.
public struct SessionKey: Hashable, Sendable {
    /// The first eight bytes.
    public let high: UInt64
    /// The last eight bytes.
    public let low: UInt64

    /// Creates a key from its two halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates a key from the first 16 bytes of a digest.
    init(digest: [UInt8]) {
        high = digest[0..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = digest[8..<16].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
