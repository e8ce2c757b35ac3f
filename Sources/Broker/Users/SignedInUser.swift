import Primitives
public import PusherProtocol

/// The user of a connection, as the app's backend describes them in `user_data` (Pusher documentation,
/// "Authenticating users").
public struct SignedInUser: Equatable, Sendable {
    /// As whom the user joins presence channels without `channel_data`.
    public let member: Member
    /// The users whose coming and going this one is told, each once; never more than the app allows.
    public let watchlist: [UserID]
    /// How many users the watchlist named.
    public let watchlistCount: Int

    /// Who it is.
    public var id: UserID { member.id }

    /// Reads `user_data`: an object with `id`, and perhaps `user_info` and `watchlist`.
    ///
    /// - Parameters:
    ///   - userData: The text that was signed.
    ///   - limits: The longest id and info, and how many users can be watched.
    /// - Throws: What is wrong with it.
    public init(userData: String, limits: AppLimits) throws(UserDataError) {
        let bytes = Array(userData.utf8)
        let text = bytes.span
        var (id, info, watchlist): (JSONValue?, JSONValue?, JSONValue?)
        do throws(JSONError) {
            var scanner = JSONScanner(depthMax: limits.texts.depthMax)
            try scanner.beginObject(in: text)
            while let name = try scanner.nextName(in: text) {
                let value = try scanner.value(in: text)
                if name.equals("id", in: text) { id = value }
                if name.equals("user_info", in: text) { info = value }
                if name.equals("watchlist", in: text) { watchlist = value }
            }
            try scanner.finish(in: text)
        } catch {
            throw .malformed(error)
        }
        member = Member(
            id: try SignedInUser.userID(id, in: text, limits),
            info: try SignedInUser.info(info, in: text, limits)
        )
        (self.watchlist, watchlistCount) = try SignedInUser.users(watchlist, in: text, limits)
    }

    private static func userID(
        _ value: JSONValue?,
        in text: Span<UInt8>,
        _ limits: AppLimits
    ) throws(UserDataError) -> UserID {
        // pusher-js takes no other type for a user, not even a number.
        guard let value, value.kind == .string, value.decodedLength > 0 else { throw .noID }
        let id = value.string(in: text)
        guard id.withUTF8Bytes({ ChannelName.isValidUserID($0, limits: limits.texts) }) else {
            throw .invalidID(lengthMax: limits.texts.userIDLengthMax)
        }
        return UserID(id)
    }

    private static func info(
        _ value: JSONValue?,
        in text: Span<UInt8>,
        _ limits: AppLimits
    ) throws(UserDataError) -> [UInt8]? {
        guard let value, value.kind != .null else { return nil }
        guard value.range.count <= limits.userInfoLengthMax else {
            throw .infoTooLong(length: value.range.count, lengthMax: limits.userInfoLengthMax)
        }
        return value.token(in: text)
    }

    private static func users(
        _ value: JSONValue?,
        in text: Span<UInt8>,
        _ limits: AppLimits
    ) throws(UserDataError) -> ([UserID], count: Int) {
        guard let value, value.kind != .null else { return ([], 0) }
        guard value.kind == .array else { throw .invalidWatchlist }
        // The text was scanned whole already: it can be walked without another look at its form.
        var scanner = JSONScanner(at: value.range.lowerBound, depthMax: .max)
        try? scanner.beginArray(in: text)
        var users: [UserID] = []
        var seen: Set<UserID> = []
        var count = 0
        while let element = try? scanner.nextElement(in: text) {
            guard element.kind == .string else { throw .invalidWatchlist }
            count += 1
            guard users.count < limits.watchlistMax else { continue }
            let user = UserID(element.string(in: text))
            if seen.insert(user).inserted { users.append(user) }
        }
        return (users, count)
    }
}

/// Why `user_data` signs nobody in.
public enum UserDataError: Error, Equatable, Sendable {
    /// It is not the JSON text of an object.
    case malformed(JSONError)
    /// It has no `id`, or one that is no string, or an empty one.
    case noID
    /// The `id` has a character that ids must not have, or more than `lengthMax` of them.
    case invalidID(lengthMax: Int)
    /// The `user_info` has more than `lengthMax` bytes.
    case infoTooLong(length: Int, lengthMax: Int)
    /// The `watchlist` is not an array of strings.
    case invalidWatchlist
}

extension UserDataError: CustomStringConvertible {
    /// What is wrong, and what would be right.
    public var description: String {
        switch self {
        case .malformed(let error): "Invalid user_data: a JSON object is expected, but \(error)"
        case .noID: "Invalid user_data: id must be a string that is not empty"
        case .invalidID(let lengthMax):
            "Invalid user_data: id may have \(lengthMax) characters out of A-Z a-z 0-9 _ - = @ , . ;"
        case .infoTooLong(let length, let lengthMax):
            "Invalid user_data: user_info has \(length) bytes, at most \(lengthMax) are allowed"
        case .invalidWatchlist: "Invalid user_data: watchlist must be an array of user ids"
        }
    }
}
