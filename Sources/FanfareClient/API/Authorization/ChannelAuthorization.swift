/// The authorisation of one connection for one channel: the backend's signature and the data signed with it.
///
/// It is valid for one socket ID only.
public struct ChannelAuthorization: Sendable, Hashable {
    /// The app's key, a colon and the signature.
    @Redacted package var auth: String
    /// The member of a presence channel: exactly the JSON text that was signed.
    @Redacted package var channelData: String?
    /// The key of an encrypted channel's events: 32 bytes as base64.
    @Redacted package var sharedSecret: String?

    /// Creates an authorisation from a backend's signature.
    ///
    /// - Parameters:
    ///   - auth: The app's key, a colon and the signature.
    ///   - channelData: The member of a presence channel, as the JSON text that was signed.
    ///   - sharedSecret: The key of an encrypted channel's events, 32 bytes as base64.
    public init(auth: String, channelData: String? = nil, sharedSecret: String? = nil) {
        self.auth = auth
        self.channelData = channelData
        self.sharedSecret = sharedSecret
    }
}

/// The authentication of one connection as a user.
public struct UserAuthentication: Sendable, Hashable {
    /// The app's key, a colon and the signature.
    @Redacted package var auth: String
    /// The user, an object with an `id`: exactly the JSON text that was signed.
    @Redacted package var userData: String

    /// Creates an authorisation from a backend's signature.
    ///
    /// - Parameters:
    ///   - auth: The app's key, a colon and the signature.
    ///   - userData: The user as the JSON text that was signed.
    public init(auth: String, userData: String) {
        self.auth = auth
        self.userData = userData
    }
}
