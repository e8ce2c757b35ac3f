import PusherProtocol

/// Authorizes subscriptions by the backend's signature.
enum Admission {
    /// Returns the connection's member on a presence channel, if the connection may subscribe to the channel.
    ///
    /// The signature in `auth` must name the connection; public channels need none. The user is the one that the
    /// connection is signed in as. Throws the reason of the refusal.
    static func member(
        joining channel: ChannelName,
        socketID: SocketID,
        auth: String?,
        channelData: String?,
        user: Member? = nil,
        app: App
    ) throws(SubscriptionRefusal) -> Member? {
        switch channel.kind {
        case .public, .cache: return nil
        case .private, .privateCache, .encrypted, .encryptedCache, .presence, .presenceCache: break
        case .serverToUser:
            guard let user, user.id == channel.userID.map(UserID.init) else {
                throw .notTheUser(channel)
            }
            return nil
        }
        guard let auth, !auth.isEmpty else {
            throw .unsigned(
                ChannelSignature.stringToSign(
                    socketID: socketID,
                    channel: channel.text,
                    channelData: channelData
                )
            )
        }
        do throws(SignatureError) {
            try ChannelSignature.verify(
                auth,
                socketID: socketID,
                channel: channel.text,
                channelData: channelData
            ) { app.credentials.secret(of: $0) }
        } catch {
            throw .signature(error)
        }
        guard channel.kind.isPresence else { return nil }
        guard let channelData else {
            guard let user else { throw .noChannelData(channel) }
            return user
        }
        do throws(MemberError) {
            return try Member(channelData: channelData, limits: app.limits)
        } catch {
            throw .member(error)
        }
    }
}
