import PusherProtocol

/// What a backend answers to a client that may join a channel.
///
/// ``json`` is the content of the answer, with status 200 and the type `application/json`.
public struct ChannelGrant: Hashable, Sendable {
    /// The app's key, a colon and the signature.
    public var auth: String
    /// Who joins a presence channel: the JSON text that was signed, to the letter.
    public var channelData: String?
    /// The key of an encrypted channel's events: 32 bytes as base64.
    public var sharedSecret: String?

    /// Takes the parts of an answer.
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

    /// The answer to a client that has asked for one channel.
    public var json: String {
        var json = JSONWriter()
        write(to: &json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// The answer to a client that has asked for several channels at once; those left out are refused.
    ///
    /// - Parameter grants: By channel.
    /// - Returns: The content of the answer.
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

/// What a backend answers to a client that wants to be signed in.
public struct UserGrant: Hashable, Sendable {
    /// The app's key, a colon and the signature.
    public var auth: String
    /// The user: the JSON text that was signed, to the letter.
    public var userData: String

    /// Takes the parts of an answer.
    ///
    /// - Parameters:
    ///   - auth: The app's key, a colon and the signature.
    ///   - userData: The user as the JSON text that was signed.
    public init(auth: String, userData: String) {
        self.auth = auth
        self.userData = userData
    }

    /// The content of the answer, with status 200 and the type `application/json`.
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
    /// Says which parts there are, and nothing of what lets somebody in.
    public var description: String {
        "ChannelGrant(auth\(channelData == nil ? "" : ", channelData")"
            + "\(sharedSecret == nil ? "" : ", sharedSecret"))"
    }

    /// Shows nothing, whoever dumps the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UserGrant: CustomStringConvertible, CustomReflectable {
    /// Says that there is a signature, and nothing of it.
    public var description: String { "UserGrant(…)" }

    /// Shows nothing, whoever dumps the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
