/// What lets one connection into one channel: the signature of the app's backend, and what was signed with it.
///
/// It holds for one socket ID and is worth nothing on another connection.
public struct ChannelAuthorization: Sendable, Hashable {
    /// The app's key, a colon and the signature.
    public var auth: String
    /// Who joins a presence channel: the JSON text that was signed, to the letter.
    public var channelData: String?
    /// The key of an encrypted channel's events: 32 bytes as base64.
    public var sharedSecret: String?

    /// Takes what a backend has signed.
    ///
    /// - Parameters:
    ///   - auth: The app's key, a colon and the signature.
    ///   - channelData: Who joins a presence channel, as the JSON text that was signed.
    ///   - sharedSecret: The key of an encrypted channel's events, 32 bytes as base64.
    public init(auth: String, channelData: String? = nil, sharedSecret: String? = nil) {
        self.auth = auth
        self.channelData = channelData
        self.sharedSecret = sharedSecret
    }
}

extension ChannelAuthorization: CustomStringConvertible, CustomReflectable {
    /// Says which parts there are, and nothing of what lets somebody in.
    public var description: String {
        let parts = [
            "auth", channelData.map { _ in "channelData" },
            sharedSecret.map { _ in "sharedSecret" },
        ]
        return "ChannelAuthorization(\(parts.compactMap { $0 }.joined(separator: ", ")))"
    }

    /// Shows nothing, whoever dumps the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What signs one connection in as a user.
public struct UserAuthentication: Sendable, Hashable {
    /// The app's key, a colon and the signature.
    public var auth: String
    /// The user, an object with an `id`: the JSON text that was signed, to the letter.
    public var userData: String

    /// Takes what a backend has signed.
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
    /// Says that there is a signature, and nothing of it.
    public var description: String { "UserAuthentication(…)" }

    /// Shows nothing, whoever dumps the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
