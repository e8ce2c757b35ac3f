import Primitives
public import PusherProtocol

/// The id of a user: two are the same when their bytes are.
///
/// A `String` equals another that Unicode calls equivalent; in JavaScript, and so for clients, they are two.
public struct UserID: Hashable, Sendable, CustomStringConvertible {
    /// The id as it is written.
    public let text: String

    /// Makes the id that reads `text`.
    public init(_ text: String) { self.text = text }

    /// Whether two ids have the same bytes.
    public static func == (left: UserID, right: UserID) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Feeds the bytes.
    public func hash(into hasher: inout Hasher) {
        text.withUTF8Bytes { $0.withUnsafeBytes { hasher.combine(bytes: $0) } }
    }

    /// The id as it is written.
    public var description: String { text }
}

/// A user on a presence channel, as the app's backend describes them in `channel_data`.
public struct Member: Hashable, Sendable {
    /// Who it is.
    public let id: UserID
    /// What the others are told about the user, as JSON text; `nil` when that is nothing or `null`.
    public let info: [UInt8]?

    /// Takes the parts of a member, unchecked.
    public init(id: UserID, info: [UInt8]? = nil) {
        self.id = id
        self.info = info
    }

    /// Reads `channel_data`: an object with `user_id` and, if there is something to tell, `user_info`.
    ///
    /// An id that is an integer becomes the text of its digits, which clients use as the key of the user anyway.
    ///
    /// - Parameters:
    ///   - channelData: The text that was signed.
    ///   - limits: The longest id and info.
    /// - Throws: What is wrong with it.
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

    /// The places of `user_id` and `user_info`.
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
        let value = id.string(in: text)
        switch id.kind {
        case .string: return value
        // As text, and not as a number: ids may have more digits than a floating-point number holds.
        case .number where !value.utf8.contains(where: { ".eE".utf8.contains($0) }): return value
        default: throw .invalidID
        }
    }
}

/// Why `channel_data` makes nobody a member.
public enum MemberError: Error, Equatable, Sendable {
    /// It is not the JSON text of an object.
    case malformed(JSONError)
    /// It has no `user_id`, or an empty one.
    case noID
    /// The `user_id` is neither a string nor an integer.
    case invalidID
    /// The `user_id` has more than `lengthMax` characters.
    case idTooLong(length: Int, lengthMax: Int)
    /// The `user_info` has more than `lengthMax` bytes.
    case infoTooLong(length: Int, lengthMax: Int)
}

extension MemberError: CustomStringConvertible {
    /// What is wrong, and what would be right.
    public var description: String {
        switch self {
        case .malformed(let error): "Invalid channel_data: a JSON object is expected, but \(error)"
        case .noID: "Invalid channel_data: user_id is missing or empty"
        case .invalidID: "Invalid channel_data: user_id must be a string or an integer"
        case .idTooLong(let length, let lengthMax):
            "Invalid channel_data: user_id has \(length) characters, at most \(lengthMax) are allowed"
        case .infoTooLong(let length, let lengthMax):
            "Invalid channel_data: user_info has \(length) bytes, at most \(lengthMax) are allowed"
        }
    }
}
