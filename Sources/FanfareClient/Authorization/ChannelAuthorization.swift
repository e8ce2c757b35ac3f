/// The authorisation of one connection for one channel: the backend's signature and the data signed with it.
///
/// It is valid for one socket ID only.
public struct ChannelAuthorization: Sendable, Hashable {
    /// The app's key, a colon and the signature.
    public var auth: String
    /// The member of a presence channel: exactly the JSON text that was signed.
    public var channelData: String?
    /// The key of an encrypted channel's events: 32 bytes as base64.
    public var sharedSecret: String?

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

extension ChannelAuthorization: CustomStringConvertible, CustomReflectable {
    /// Lists the parts that are set, without their secret values.
    public var description: String {
        let parts = [
            "auth", channelData.map { _ in "channelData" },
            sharedSecret.map { _ in "sharedSecret" },
        ]
        return "ChannelAuthorization(\(parts.compactMap { $0 }.joined(separator: ", ")))"
    }

    /// An empty mirror, so that dumping the value shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The authentication of one connection as a user.
public struct UserAuthentication: Sendable, Hashable {
    /// The app's key, a colon and the signature.
    public var auth: String
    /// The user, an object with an `id`: exactly the JSON text that was signed.
    public var userData: String

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

extension UserAuthentication: CustomStringConvertible, CustomReflectable {
    /// The type's name, without the signature.
    public var description: String { "UserAuthentication(…)" }

    /// An empty mirror, so that dumping the value shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
