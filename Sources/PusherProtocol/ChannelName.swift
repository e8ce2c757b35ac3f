import Primitives

/// A valid channel name.
///
/// One to `channelNameLengthMax` characters out of `A–Z a–z 0–9 _ - = @ , . ;`; a leading `#` is reserved for
/// `#server-to-user-<user id>`.
public struct ChannelName: Sendable {
    /// The name: ASCII, without characters that JSON escapes.
    public let text: String
    /// The kind of the channel.
    public let kind: ChannelKind

    /// Validates a name in UTF-8; throws the first violated rule.
    public init(
        validating bytes: Span<UInt8>,
        limits: ProtocolLimits = ProtocolLimits()
    ) throws(ChannelNameError) {
        kind = try ChannelName.kind(checking: bytes, limits)
        text = bytes.string()
    }

    /// Validates a name; throws the first violated rule.
    public init(
        _ text: String,
        limits: ProtocolLimits = ProtocolLimits()
    ) throws(ChannelNameError) {
        kind = try text.withUTF8Bytes { (bytes) throws(ChannelNameError) in
            try ChannelName.kind(checking: bytes, limits)
        }
        self.text = text
    }

    private static func kind(
        checking bytes: Span<UInt8>,
        _ limits: ProtocolLimits
    ) throws(ChannelNameError) -> ChannelKind {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= limits.channelNameLengthMax else {
            throw .tooLong(length: bytes.count, lengthMax: limits.channelNameLengthMax)
        }
        let kind = ChannelKind(ofName: bytes)
        if kind == .serverToUser {
            let prefixLength = ChannelKind.serverToUserPrefix.utf8CodeUnitCount
            let userID = bytes.extracting(prefixLength..<bytes.count)
            guard userID.count <= limits.userIDLengthMax else {
                throw .userIDTooLong(length: userID.count, lengthMax: limits.userIDLengthMax)
            }
            guard !userID.isEmpty, ChannelName.invalidIndex(in: userID) == nil else {
                throw .invalidUserID
            }
        } else if let index = ChannelName.invalidIndex(in: bytes) {
            throw bytes[0] == UInt8(ascii: "#") ? .reserved : .invalidCharacter(at: index)
        }
        return kind
    }

    /// The user id of a `#server-to-user-` channel, otherwise `nil`.
    public var userID: String? {
        guard kind == .serverToUser else { return nil }
        let prefixLength = ChannelKind.serverToUserPrefix.utf8CodeUnitCount
        return String(text.utf8.dropFirst(prefixLength))
    }

    /// Whether `bytes` is a valid user id: the characters of a channel name, at least one.
    public static func isValidUserID(
        _ bytes: Span<UInt8>,
        limits: ProtocolLimits = ProtocolLimits()
    ) -> Bool {
        !bytes.isEmpty && bytes.count <= limits.userIDLengthMax && invalidIndex(in: bytes) == nil
    }

    private static func invalidIndex(in bytes: Span<UInt8>) -> Int? {
        for index in bytes.indices where !isAllowed(bytes[index]) { return index }
        return nil
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "="), UInt8(ascii: "@"), UInt8(ascii: ","), UInt8(ascii: "."),
            UInt8(ascii: ";"):
            true
        default: false
        }
    }
}

extension ChannelName: Hashable {
    /// Compares the text; the kind follows from it.
    public static func == (left: ChannelName, right: ChannelName) -> Bool {
        left.text == right.text
    }

    /// Hashes the text.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension ChannelName: CustomStringConvertible {
    /// The name.
    public var description: String { text }
}

/// The rule that an invalid channel name violates.
public enum ChannelNameError: Error, Equatable, Sendable {
    /// The name is empty.
    case empty
    /// The name has more than `lengthMax` characters.
    case tooLong(length: Int, lengthMax: Int)
    /// A character that is not allowed, at this byte offset.
    case invalidCharacter(at: Int)
    /// A leading `#` is reserved for the protocol.
    case reserved
    /// The part after `#server-to-user-` is not a valid user id.
    case invalidUserID
    /// The user id after `#server-to-user-` has more than `lengthMax` characters.
    case userIDTooLong(length: Int, lengthMax: Int)
}

extension ChannelNameError {
    /// The exceeded limit, if the error is one.
    public var limit: Limit? {
        if case .tooLong = self { .channelNameLength } else { nil }
    }
}

extension ChannelNameError: CustomStringConvertible {
    /// The error message, without a full stop.
    public var description: String {
        switch self {
        case .empty: "the name is empty"
        case .tooLong(let length, let lengthMax):
            "it has \(length) characters, at most \(lengthMax) are allowed"
        case .invalidCharacter(let offset):
            "the character at byte \(offset) is not one of A-Z a-z 0-9 _ - = @ , . ;"
        case .reserved: "names that begin with # are reserved"
        case .invalidUserID: "#server-to-user- must be followed by a user id"
        case .userIDTooLong(let length, let lengthMax):
            "the user id has \(length) characters, at most \(lengthMax) are allowed"
        }
    }
}
