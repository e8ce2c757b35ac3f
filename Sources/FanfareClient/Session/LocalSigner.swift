import PusherProtocol

/// Signs subscriptions and sign-ins with the app's secret, instead of a backend.
///
/// For the command-line program only: a distributed app must not contain the secret.
package struct LocalSigner: Sendable {
    private let key: String
    private let secret: AppSecret
    /// The user to sign in as, as JSON text; `nil` for no sign-in.
    private let userData: String?

    /// Creates a signer.
    ///
    /// - Parameters:
    ///   - key: The app's key.
    ///   - secret: The app's secret.
    ///   - userData: The user to sign in on each connection, as JSON text: an object with `id` and optionally
    ///     `user_info` and `watchlist`; `nil` for no sign-in.
    package init(key: String, secret: String, userData: String? = nil) {
        self.key = key
        self.secret = AppSecret(secret)
        self.userData = userData
    }

    /// Returns the sign-in message; `nil` without user data.
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

    /// Returns the signature of a subscription; `nil` if the channel requires none.
    ///
    /// On a presence channel the signed-in user becomes the member.
    func auth(of channel: String, on socketID: SocketID) -> String? {
        guard ChannelKind(ofName: channel).requiresSignature else { return nil }
        return ChannelSignature.auth(socketID: socketID, channel: channel, key: key, secret: secret)
    }
}
