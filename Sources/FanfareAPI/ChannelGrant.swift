import PusherProtocol

/// A backend's response that authorises a client to join a channel.
///
/// Send ``json`` with status 200 and the content type `application/json`.
public struct ChannelGrant: Hashable, Sendable {
    /// The app's key, a colon and the signature.
    public var auth: String
    /// The member of a presence channel: exactly the JSON text that was signed.
    public var channelData: String?
    /// The key of an encrypted channel's events: 32 bytes as base64.
    public var sharedSecret: String?

    /// Creates a response.
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

    /// The response to a request for one channel.
    public var json: String {
        var json = JSONWriter()
        write(to: &json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Returns the response to a request for several channels; channels without a grant are refused.
    ///
    /// - Parameter grants: The grants by channel.
    /// - Returns: The content of the response.
    public static func json(_ grants: [String: ChannelGrant]) -> String {
        var json = JSONWriter()
        json.beginObject()
        for (channel, grant) in grants.sorted(by: { $0.key < $1.key }) {
            json.name(channel)
            grant.write(to: &json)
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private func write(to json: inout JSONWriter) {
        json.beginObject()
        for (name, value) in [
            ("auth", auth), ("channel_data", channelData), ("shared_secret", sharedSecret),
        ] {
            guard let value else { continue }
            json.name(name)
            json.string(value)
        }
        json.endObject()
    }
}

/// A backend's response that signs a client in.
public struct UserGrant: Hashable, Sendable {
    /// The app's key, a colon and the signature.
    public var auth: String
    /// The user: exactly the JSON text that was signed.
    public var userData: String

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - auth: The app's key, a colon and the signature.
    ///   - userData: The user as the JSON text that was signed.
    public init(auth: String, userData: String) {
        self.auth = auth
        self.userData = userData
    }

    /// The content of the response, for status 200 and the content type `application/json`.
    public var json: String {
        var json = JSONWriter()
        json.beginObject()
        json.name("auth")
        json.string(auth)
        json.name("user_data")
        json.string(userData)
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension ChannelGrant: CustomStringConvertible, CustomReflectable {
    /// Lists the parts that are set, without their secret values.
    public var description: String {
        "ChannelGrant(auth\(channelData == nil ? "" : ", channelData")"
            + "\(sharedSecret == nil ? "" : ", sharedSecret"))"
    }

    /// An empty mirror, so that dumping the value shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UserGrant: CustomStringConvertible, CustomReflectable {
    /// The type's name, without the signature.
    public var description: String { "UserGrant(…)" }

    /// An empty mirror, so that dumping the value shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
