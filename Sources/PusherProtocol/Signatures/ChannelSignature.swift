import Primitives

/// The signature with which an app's backend authorizes a subscription.
public enum ChannelSignature {
    /// Returns the text to sign: `socket:channel`, and `:data` if the backend provides channel data.
    ///
    /// - Parameters:
    ///   - socketID: The connection.
    ///   - channel: The channel's name.
    ///   - channelData: The text exactly as the client sends it; equal JSON written differently has another signature.
    /// - Returns: The text to sign.
    public static func stringToSign(
        socketID: SocketID,
        channel: String,
        channelData: String?
    ) -> String {
        let text = "\(socketID):\(channel)"
        guard let channelData else { return text }
        return text + ":" + channelData
    }

    /// Signs a connection's subscription to a channel.
    ///
    /// - Parameters:
    ///   - socketID: The connection.
    ///   - channel: The channel's name.
    ///   - channelData: The member's data on a presence channel, as JSON text.
    ///   - key: The app's key.
    ///   - secret: The app's secret.
    /// - Returns: The value of `auth`: the key, a colon and the signature.
    public static func auth(
        socketID: SocketID,
        channel: String,
        channelData: String? = nil,
        key: String,
        secret: AppSecret
    ) -> String {
        let text = stringToSign(socketID: socketID, channel: channel, channelData: channelData)
        return key + ":" + secret.sign(text)
    }

    /// Verifies the `auth` of a subscription.
    ///
    /// - Parameters:
    ///   - auth: The value that the client sent.
    ///   - socketID: The connection that sent it.
    ///   - channel: The channel's name.
    ///   - channelData: The channel data, as received, on any kind of channel.
    ///   - secret: The app's secret for one of its keys, or `nil` for a key that is not the app's.
    /// - Throws: The cause; it does not contain the correct signature.
    public static func verify(
        _ auth: String,
        socketID: SocketID,
        channel: String,
        channelData: String?,
        secret: (String) -> AppSecret?
    ) throws(SignatureError) {
        let text = stringToSign(socketID: socketID, channel: channel, channelData: channelData)
        try SignedAuth.verify(auth, of: text, secret: secret)
    }
}

/// The signature with which an app's backend authenticates a connection's user.
public enum UserSignature {
    /// Returns the text to sign: `socket::user::data`.
    ///
    /// - Parameters:
    ///   - socketID: The connection.
    ///   - userData: The user as JSON text, exactly as the client sends it.
    /// - Returns: The text to sign.
    public static func stringToSign(socketID: SocketID, userData: String) -> String {
        "\(socketID)::user::\(userData)"
    }

    /// Signs a connection's sign-in.
    ///
    /// - Parameters:
    ///   - socketID: The connection.
    ///   - userData: The user as JSON text.
    ///   - key: The app's key.
    ///   - secret: The app's secret.
    /// - Returns: The value of `auth`: the key, a colon and the signature.
    public static func auth(
        socketID: SocketID,
        userData: String,
        key: String,
        secret: AppSecret
    ) -> String {
        key + ":" + secret.sign(stringToSign(socketID: socketID, userData: userData))
    }

    /// Verifies the `auth` of a sign-in.
    ///
    /// - Parameters:
    ///   - auth: The value that the client sent.
    ///   - socketID: The connection that sent it.
    ///   - userData: The user data, as received.
    ///   - secret: The app's secret for one of its keys, or `nil` for a key that is not the app's.
    /// - Throws: The cause; it does not contain the correct signature.
    public static func verify(
        _ auth: String,
        socketID: SocketID,
        userData: String,
        secret: (String) -> AppSecret?
    ) throws(SignatureError) {
        let text = stringToSign(socketID: socketID, userData: userData)
        try SignedAuth.verify(auth, of: text, secret: secret)
    }
}

/// The reason why a subscription or a sign-in is refused.
public enum SignatureError: Error, Equatable, Sendable {
    /// The part before the colon is not a key of the app, or there is no colon.
    case unknownKey(auth: String)
    /// The part after the colon is not the signature of `text`.
    case mismatch(text: String, signature: String)
}

extension SignatureError: CustomStringConvertible {
    /// The hosted service's text: it contains the text to sign, never the secret or the correct signature.
    public var description: String {
        switch self {
        case .unknownKey(let auth): "Invalid key in subscription auth data: '\(auth)'"
        case .mismatch(let text, let signature):
            "Invalid signature: Expected HMAC SHA256 hex digest of \(text), but got \(signature)"
        }
    }
}

/// Verifies `KEY:signature`, split at the first colon.
private enum SignedAuth {
    static func verify(
        _ auth: String,
        of text: String,
        secret: (String) -> AppSecret?
    ) throws(SignatureError) {
        // By bytes, because a peer has written the text.
        guard let colon = auth.utf8.firstIndex(of: UInt8(ascii: ":")),
            let secret = secret(String(auth[..<colon]))
        else { throw .unknownKey(auth: auth) }
        let signature = auth[auth.utf8.index(after: colon)...]
        guard secret.verify(Array(signature.utf8).span, of: Array(text.utf8).span) else {
            throw .mismatch(text: text, signature: String(signature))
        }
    }
}
