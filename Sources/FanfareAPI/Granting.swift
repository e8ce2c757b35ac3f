import Primitives
import PusherProtocol

/// Authorises and authenticates clients; signs locally, without a request to the broker.
extension BrokerAPI {
    /// Authorises a client for a private, presence or encrypted channel.
    ///
    /// First check that the user may join the channel.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - socketID: The `socket_id` from the client's request.
    ///   - user: The user's ID for a presence channel, at most 128 characters; ignored for other channels.
    /// - Returns: The response for the client.
    /// - Throws: `.invalidArgument` when the channel name or socket ID is invalid, or a presence channel has no `user`.
    public func authorize(
        _ channel: String,
        for socketID: String,
        as user: String? = nil
    ) throws(FanfareAPIError) -> ChannelGrant {
        try grant(channel, to: socketID) { () throws(FanfareAPIError) in
            guard let user else {
                throw .invalidArgument("\(channel) is a presence channel: pass the user's id")
            }
            return UserDescription.member(id: try Self.checked(user), info: nil)
        }
    }

    /// Authorises a client for a private, presence or encrypted channel, with user information for a presence channel.
    ///
    /// First check that the user may join the channel.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - socketID: The `socket_id` from the client's request.
    ///   - user: The user's ID for a presence channel, at most 128 characters; ignored for other channels.
    ///   - info: The user information for other members, up to 1 kB as JSON unless the broker allows more.
    /// - Returns: The response for the client.
    /// - Throws: `.invalidArgument` when the channel name or socket ID is invalid, `.encoding` when the info cannot be
    ///   encoded.
    public func authorize(
        _ channel: String,
        for socketID: String,
        as user: String,
        info: some Encodable
    ) throws(FanfareAPIError) -> ChannelGrant {
        try grant(channel, to: socketID) { () throws(FanfareAPIError) in
            UserDescription.member(id: try Self.checked(user), info: try APIEvent.json(info))
        }
    }

    /// Authorises a client for a channel with existing channel data.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - socketID: The `socket_id` from the client's request.
    ///   - channelData: The text that the client sends with the signature, on any kind of channel; the signature covers
    ///     it.
    /// - Returns: The response for the client.
    /// - Throws: `.invalidArgument` when the channel name or socket ID is invalid.
    public func authorize(
        _ channel: String,
        for socketID: String,
        channelData: String
    ) throws(FanfareAPIError) -> ChannelGrant {
        let (connection, kind) = try Self.check(channel, socketID)
        return try sign(channel, kind, connection, channelData)
    }

    /// Signs a client in as a user.
    ///
    /// - Parameters:
    ///   - user: The user's ID: at most 128 letters, digits and `_-=@,.;`.
    ///   - socketID: The `socket_id` from the client's request.
    ///   - watchlist: The IDs of users whose online status the client receives, at most 100.
    /// - Returns: The response for the client.
    /// - Throws: `.invalidArgument` when an ID is invalid.
    public func authenticate(
        _ user: String,
        for socketID: String,
        watchlist: [String] = []
    ) throws(FanfareAPIError) -> UserGrant {
        try authenticate(user, for: socketID, json: nil, watchlist: watchlist)
    }

    /// Signs a client in as a user, with user information for other members.
    ///
    /// - Parameters:
    ///   - user: The user's ID: at most 128 letters, digits and `_-=@,.;`.
    ///   - socketID: The `socket_id` from the client's request.
    ///   - info: The user information for other members, up to 1 kB as JSON unless the broker allows more.
    ///   - watchlist: The IDs of users whose online status the client receives, at most 100.
    /// - Returns: The response for the client.
    /// - Throws: `.invalidArgument` when an ID is invalid, `.encoding` when the info cannot be encoded.
    public func authenticate(
        _ user: String,
        for socketID: String,
        info: some Encodable,
        watchlist: [String] = []
    ) throws(FanfareAPIError) -> UserGrant {
        let json = try APIEvent.json(info)
        return try authenticate(user, for: socketID, json: json, watchlist: watchlist)
    }

    /// Signs a client in with existing user data.
    ///
    /// - Parameters:
    ///   - userData: An object with `id` and optionally `user_info` and `watchlist`, as JSON text.
    ///   - socketID: The `socket_id` from the client's request.
    /// - Returns: The response for the client.
    /// - Throws: `.invalidArgument` when the socket ID is invalid.
    public func authenticate(
        userData: String,
        for socketID: String
    ) throws(FanfareAPIError) -> UserGrant {
        let auth = UserSignature.auth(
            socketID: try Self.connection(socketID),
            userData: userData,
            key: key,
            secret: secret
        )
        return UserGrant(auth: auth, userData: userData)
    }

    private func authenticate(
        _ user: String,
        for socketID: String,
        json: String?,
        watchlist: [String]
    ) throws(FanfareAPIError) -> UserGrant {
        guard ChannelName.isValidUserID(Array(user.utf8).span) else {
            throw .invalidArgument(
                "\(user.debugDescription) is not a user id for sign-in: expected 1 to 128 characters of "
                    + "A-Z a-z 0-9 _ - = @ , . ;"
            )
        }
        let data = UserDescription.signIn(id: user, info: json, watchlist: watchlist)
        return try authenticate(userData: data, for: socketID)
    }

    // MARK: Steps

    private func grant(
        _ channel: String,
        to socketID: String,
        member: () throws(FanfareAPIError) -> String
    ) throws(FanfareAPIError) -> ChannelGrant {
        let (connection, kind) = try Self.check(channel, socketID)
        return try sign(channel, kind, connection, kind.isPresence ? try member() : nil)
    }

    private func sign(
        _ channel: String,
        _ kind: ChannelKind,
        _ connection: SocketID,
        _ channelData: String?
    ) throws(FanfareAPIError) -> ChannelGrant {
        var grant = ChannelGrant(
            auth: ChannelSignature.auth(
                socketID: connection,
                channel: channel,
                channelData: channelData,
                key: key,
                secret: secret
            ),
            channelData: channelData
        )
        if kind.isEncrypted {
            grant.sharedSecret = try sealer(for: channel).sharedSecret(of: channel)
        }
        return grant
    }

    /// Parses channel name and socket ID; a signature of unchecked input could be valid for something else.
    private static func check(
        _ channel: String,
        _ socketID: String
    ) throws(FanfareAPIError) -> (SocketID, ChannelKind) {
        let name: ChannelName
        do throws(ChannelNameError) {
            name = try ChannelName(channel)
        } catch {
            throw .invalidArgument("\(channel.debugDescription) is not a channel name: \(error)")
        }
        guard name.kind.requiresSignature else {
            throw .invalidArgument(
                "\(channel) is a public channel: only channels that begin with private- or presence- need a signature"
            )
        }
        return (try connection(socketID), name.kind)
    }

    private static func connection(_ socketID: String) throws(FanfareAPIError) -> SocketID {
        guard let connection = SocketID(socketID) else {
            throw .invalidArgument(
                "\(socketID.debugDescription) is not a socket ID: expected two numbers separated by a dot"
            )
        }
        return connection
    }

    private static func checked(_ id: String) throws(FanfareAPIError) -> String {
        guard (1...128).contains(id.unicodeScalars.count) else {
            throw .invalidArgument(
                "A user's id has 1 to 128 characters, not \(id.unicodeScalars.count)"
            )
        }
        return id
    }
}
