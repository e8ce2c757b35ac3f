import PusherProtocol

/// Letting clients into channels, and saying who they are; all of it is done here, without the broker.
extension FanfareAPI {
    /// Lets a client into a private, presence or encrypted channel.
    ///
    /// Whether the client may join is for the app to decide, before it calls this.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - socketID: The client's connection, as it has told: `socket_id`.
    ///   - user: The id of the user who joins a presence channel, at most 128 characters; not used on other channels.
    /// - Returns: What to answer the client.
    /// - Throws: `.invalidArgument` when name or ID are none, or nobody is to join a presence channel.
    public func authorize(
        _ channel: String,
        for socketID: String,
        as user: String? = nil
    ) throws(FanfareAPIError) -> ChannelGrant {
        try grant(channel, to: socketID) { () throws(FanfareAPIError) in
            guard let user else {
                throw .invalidArgument("\(channel) is joined as a user: pass the user's id")
            }
            return UserDescription.member(id: try Self.checked(user), info: nil)
        }
    }

    /// Lets a client into a private, presence or encrypted channel, and tells who joins a presence channel.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - socketID: The client's connection, as it has told: `socket_id`.
    ///   - user: The id of the user who joins a presence channel, at most 128 characters; not used on other channels.
    ///   - info: What the others are told about the user, 1 kB as JSON unless the broker allows more.
    /// - Returns: What to answer the client.
    /// - Throws: `.invalidArgument` when name or ID are none, `.encoding` when the info cannot be written.
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

    /// Lets a client into a channel with data that is written already, such as by other software.
    ///
    /// - Parameters:
    ///   - channel: The channel's name.
    ///   - socketID: The client's connection, as it has told: `socket_id`.
    ///   - channelData: The text that the client sends along and the signature covers, on any kind of channel.
    /// - Returns: What to answer the client.
    /// - Throws: `.invalidArgument` when name or ID are none.
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
    ///   - user: The user's id: at most 128 letters, digits and `_-=@,.;`.
    ///   - socketID: The client's connection, as it has told: `socket_id`.
    ///   - watchlist: The ids of users whose coming and going the client is told, at most 100.
    /// - Returns: What to answer the client.
    /// - Throws: `.invalidArgument` when one of the ids is none.
    public func authenticate(
        _ user: String,
        for socketID: String,
        watchlist: [String] = []
    ) throws(FanfareAPIError) -> UserGrant {
        try authenticate(user, for: socketID, json: nil, watchlist: watchlist)
    }

    /// Signs a client in as a user, and tells what others are to know.
    ///
    /// - Parameters:
    ///   - user: The user's id: at most 128 letters, digits and `_-=@,.;`.
    ///   - socketID: The client's connection, as it has told: `socket_id`.
    ///   - info: What others are told about the user, 1 kB as JSON unless the broker allows more.
    ///   - watchlist: The ids of users whose coming and going the client is told, at most 100.
    /// - Returns: What to answer the client.
    /// - Throws: `.invalidArgument` when one of the ids is none, `.encoding` when the info cannot be written.
    public func authenticate(
        _ user: String,
        for socketID: String,
        info: some Encodable,
        watchlist: [String] = []
    ) throws(FanfareAPIError) -> UserGrant {
        let json = try APIEvent.json(info)
        return try authenticate(user, for: socketID, json: json, watchlist: watchlist)
    }

    /// Signs a client in with data that is written already.
    ///
    /// - Parameters:
    ///   - userData: An object with `id`, and perhaps `user_info` and `watchlist`, as JSON text.
    ///   - socketID: The client's connection, as it has told: `socket_id`.
    /// - Returns: What to answer the client.
    /// - Throws: `.invalidArgument` when the socket ID is none.
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
                "\(user.debugDescription) cannot sign in: an id has 1 to 128 characters out of "
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

    /// Reads name and ID: what a client sends is not to be signed unseen, since one text can mean two things.
    private static func check(
        _ channel: String,
        _ socketID: String
    ) throws(FanfareAPIError) -> (SocketID, ChannelKind) {
        let name: ChannelName
        do throws(ChannelNameError) {
            name = try ChannelName(channel)
        } catch {
            throw .invalidArgument("\(channel.debugDescription) is no channel's name: \(error)")
        }
        guard name.kind.requiresSignature else {
            throw .invalidArgument(
                "\(channel) is open to everybody: only channels that begin with private- or presence- are signed for"
            )
        }
        return (try connection(socketID), name.kind)
    }

    private static func connection(_ socketID: String) throws(FanfareAPIError) -> SocketID {
        guard let connection = SocketID(socketID) else {
            throw .invalidArgument(
                "\(socketID.debugDescription) is no socket ID: two numbers with a dot in between are expected"
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
