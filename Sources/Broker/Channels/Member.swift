import Primitives
public import PusherProtocol

/// The ID of a user, compared by bytes.
///
/// Swift compares a `String` by Unicode equivalence; JavaScript, and therefore clients, do not.
public struct UserID: Hashable, Sendable, CustomStringConvertible {
    /// The ID as text.
    public let text: String

    /// Creates the ID with this text.
    public init(_ text: String) { self.text = text }

    /// Whether two IDs have the same bytes.
    public static func == (left: UserID, right: UserID) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        text.withUTF8Bytes { $0.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    /// The ID as text.
    public var description: String { text }
}

/// A user on a presence channel, as described in `channel_data` by the app's backend.
public struct Member: Hashable, Sendable {
    /// The ID of the user.
    public let id: UserID
    /// The `user_info` sent to other members, as JSON text; `nil` if it is missing or `null`.
    public let info: [UInt8]?

    /// Creates a member without validation.
    public init(id: UserID, info: [UInt8]? = nil) {
        self.id = id
        self.info = info
    }

    /// Parses `channel_data`: an object with `user_id` and an optional `user_info`.
    ///
    /// An integer ID becomes the text of its digits, which clients use as the key of the user anyway.
    ///
    /// - Parameters:
    ///   - channelData: The signed text.
    ///   - limits: The maximum length of ID and info.
    /// - Throws: The first fault of the text.
    public init(channelData: String, limits: AppLimits) throws(MemberError) {
        let text = Array(channelData.utf8)
        let (id, info) = try Member.parts(of: text.span, depthMax: limits.texts.depthMax)
        self.id = UserID(try Member.text(of: id, in: text.span))
        let (length, lengthMax) = (self.id.text.unicodeScalars.count, limits.texts.userIDLengthMax)
        guard length <= lengthMax else { throw .idTooLong(length: length, lengthMax: lengthMax) }
        guard let info, info.kind != .null else {
            self.info = nil
            return
        }
        guard info.range.count <= limits.userInfoLengthMax else {
            throw .infoTooLong(length: info.range.count, lengthMax: limits.userInfoLengthMax)
        }
        self.info = info.token(in: text.span)
    }

    /// The values of `user_id` and `user_info`.
    private static func parts(
        of text: Span<UInt8>,
        depthMax: Int
    ) throws(MemberError) -> (id: JSONValue?, info: JSONValue?) {
        var (id, info): (JSONValue?, JSONValue?)
        do throws(JSONError) {
            var scanner = JSONScanner(depthMax: depthMax)
            try scanner.beginObject(in: text)
            while let name = try scanner.nextName(in: text) {
                let value = try scanner.value(in: text)
                if name.equals("user_id", in: text) { id = value }
                if name.equals("user_info", in: text) { info = value }
            }
            try scanner.finish(in: text)
        } catch {
            throw .malformed(error)
        }
        return (id, info)
    }

    private static func text(
        of id: JSONValue?,
        in text: Span<UInt8>
    ) throws(MemberError) -> String {
        guard let id, id.kind != .null, id.decodedLength > 0 else { throw .noID }
        guard !id.hasLoneSurrogate else { throw .loneSurrogate }
        let value = id.string(in: text)
        switch id.kind {
        case .string: return value
        // As text, not as a number: an ID may have more digits than a floating-point number holds.
        case .number where !value.utf8.contains(where: { ".eE".utf8.contains($0) }): return value
        default: throw .invalidID
        }
    }
}

/// The reason why `channel_data` is invalid.
public enum MemberError: Error, Equatable, Sendable {
    /// It is not the JSON text of an object.
    case malformed(JSONError)
    /// It has no `user_id`, or an empty one.
    case noID
    /// The `user_id` is neither a string nor an integer.
    case invalidID
    /// The `user_id` has an escape that is half of a surrogate pair.
    case loneSurrogate
    /// The `user_id` has more than `lengthMax` characters.
    case idTooLong(length: Int, lengthMax: Int)
    /// The `user_info` has more than `lengthMax` bytes.
    case infoTooLong(length: Int, lengthMax: Int)
}

extension MemberError: CustomStringConvertible {
    /// The fault, and what is expected.
    public var description: String {
        switch self {
        case .malformed(let error): "Invalid channel_data: a JSON object is expected, but \(error)"
        case .noID: "Invalid channel_data: user_id is missing or empty"
        case .invalidID: "Invalid channel_data: user_id must be a string or an integer"
        case .loneSurrogate:
            "Invalid channel_data: user_id must not contain half a surrogate pair"
        case .idTooLong(let length, let lengthMax):
            "Invalid channel_data: user_id has \(length) characters, at most \(lengthMax) are allowed"
        case .infoTooLong(let length, let lengthMax):
            "Invalid channel_data: user_info has \(length) bytes, at most \(lengthMax) are allowed"
        }
    }
}
