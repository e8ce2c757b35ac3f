import PusherProtocol

/// The app whose channels the demos use, as far as signing for it goes.
package struct SignedApp: Sendable {
    let key: String
    let secret: AppSecret

    /// Takes the app's key and secret.
    package init(key: String, secret: String) {
        self.key = key
        self.secret = AppSecret(secret)
    }
}
