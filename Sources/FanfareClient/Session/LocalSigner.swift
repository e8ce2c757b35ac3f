import PusherProtocol

/// Signs for a client on a machine that has the app's secret, as a backend signs for all others.
///
/// For the command-line program alone: a secret has no place in an app that leaves its author's hands.
package struct LocalSigner: Sendable {
    private let key: String
    private let secret: AppSecret
    /// The user to sign in as, as JSON text; `nil` for nobody.
    private let userData: String?

    /// Takes what signs, and who is to be signed in with each connection.
    ///
    /// - Parameters:
    ///   - key: The app's key.
    ///   - secret: The app's secret.
    ///   - userData: An object with `id` and perhaps `user_info` and `watchlist`, as JSON text; `nil` for nobody.
    package init(key: String, secret: String, userData: String? = nil) {
        self.key = key
        self.secret = AppSecret(secret)
        self.userData = userData
    }

    /// What signs a connection in, unless it is to be nobody's.
    func signIn(_ socketID: SocketID) -> ClientMessage? {
        userData.map { userData in
            let auth = UserSignature.auth(
                socketID: socketID,
                userData: userData,
                key: key,
                secret: secret
            )
            return .signin(auth: auth, userData: userData)
        }
    }

    /// What subscribes to a channel, with a signature if it needs one.
    ///
    /// A presence channel is joined as the user who is signed in.
    func subscribe(to channel: String, _ socketID: SocketID) -> ClientMessage {
        let isSigned = ChannelKind(ofName: channel).requiresSignature
        return .subscribe(
            channel: channel,
            auth: isSigned
                ? ChannelSignature.auth(
                    socketID: socketID,
                    channel: channel,
                    key: key,
                    secret: secret
                ) : nil,
            channelData: nil
        )
    }
}
