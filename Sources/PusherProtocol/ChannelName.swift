import Primitives

/// The name of a channel, known to follow the protocol's grammar.
///
/// One to `channelNameLengthMax` characters out of `A–Z a–z 0–9 _ - = @ , . ;`; a leading `#` belongs to the
/// channels `#server-to-user-<user id>` alone.
public struct ChannelName: Sendable {
    /// The name: ASCII, and never in need of escapes in JSON.
    public let text: String
    /// What its prefix makes of the channel.
    public let kind: ChannelKind

    /// Checks a name.
    ///
    /// - Parameters:
    ///   - bytes: The name as UTF-8.
    ///   - limits: The longest name and user id.
    /// - Throws: The first rule that the name breaks.
    public init(
        validating bytes: Span<UInt8>,
        limits: ProtocolLimits = ProtocolLimits()
    ) throws(ChannelNameError) {
        kind = try ChannelName.kind(checking: bytes, limits)
        text = bytes.string()
    }

    /// Checks a name.
    ///
    /// - Parameters:
    ///   - text: The name.
    ///   - limits: The longest name and user id.
    /// - Throws: The first rule that the name breaks.
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

    /// The user whose channel this is, or `nil` when it is no user's.
    public var userID: String? {
        guard kind == .serverToUser else { return nil }
        let prefixLength = ChannelKind.serverToUserPrefix.utf8CodeUnitCount
        return String(text.utf8.dropFirst(prefixLength))
    }

    /// Whether `bytes` can be the id of a user: the characters of a channel name, at least one.
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
    /// Whether two names are the same; the kind follows from the text.
    public static func == (left: ChannelName, right: ChannelName) -> Bool {
        left.text == right.text
    }

    /// Feeds the text alone.
    public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension ChannelName: CustomStringConvertible {
    /// The name.
    public var description: String { text }
}

/// A rule of the grammar that a channel name broke.
public enum ChannelNameError: Error, Equatable, Sendable {
    /// There is no name.
    case empty
    /// The name has more than `lengthMax` characters.
    case tooLong(length: Int, lengthMax: Int)
    /// A character that no name may hold; counted in bytes from zero.
    case invalidCharacter(at: Int)
    /// A leading `#` is for the protocol's own channels.
    case reserved
    /// What follows `#server-to-user-` is no user id.
    case invalidUserID
    /// What follows `#server-to-user-` has more than `lengthMax` characters.
    case userIDTooLong(length: Int, lengthMax: Int)
}

extension ChannelNameError {
    /// The limit that is met, if that is what is wrong.
    public var limit: Limit? {
        if case .tooLong = self { .channelNameLength } else { nil }
    }
}

extension ChannelNameError: CustomStringConvertible {
    /// What is wrong, as a sentence without its full stop.
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
