import Primitives
public import PusherProtocol

/// The user of a connection, as described in `user_data` by the app's backend (Pusher documentation, "Authenticating
/// users").
public struct SignedInUser: Equatable, Sendable {
    /// The member on presence channels that the connection joins without `channel_data`.
    public let member: Member
    /// The users to watch, each once; at most as many as the app allows.
    public let watchlist: [UserID]
    /// The number of users on the watchlist as sent.
    public let watchlistCount: Int

    /// The ID of the user.
    public var id: UserID { member.id }

    /// Parses `user_data`: an object with `id` and optional `user_info` and `watchlist`.
    ///
    /// - Parameters:
    ///   - userData: The signed text.
    ///   - limits: The maximum length of ID and info, and of the watchlist.
    /// - Throws: The first fault of the text.
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
        // pusher-js accepts no other type of ID, not even a number.
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
        // The text is well-formed: the first scan has checked it.
        var scanner = JSONScanner(at: value.range.lowerBound, depthMax: .max)
        try? scanner.beginArray(in: text)
        var users: [UserID] = []
        var seen: Set<UserID> = []
        var count = 0
        while let element = try? scanner.nextElement(in: text) {
            // A longer ID belongs to no user. In UTF-8 a character has at most four bytes.
            guard element.kind == .string, !element.hasLoneSurrogate,
                element.decodedLength <= 4 * limits.texts.userIDLengthMax
            else { throw .invalidWatchlist }
            count += 1
            guard users.count < limits.watchlistMax else { continue }
            let user = UserID(element.string(in: text))
            if seen.insert(user).inserted { users.append(user) }
        }
        return (users, count)
    }
}

/// The reason why `user_data` is invalid.
public enum UserDataError: Error, Equatable, Sendable {
    /// It is not the JSON text of an object.
    case malformed(JSONError)
    /// It has no `id`, or one that is empty or not a string.
    case noID
    /// The `id` has a forbidden character, or more than `lengthMax` characters.
    case invalidID(lengthMax: Int)
    /// The `user_info` has more than `lengthMax` bytes.
    case infoTooLong(length: Int, lengthMax: Int)
    /// The `watchlist` is not an array of strings.
    case invalidWatchlist
}

extension UserDataError: CustomStringConvertible {
    /// The fault, and what is expected.
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
