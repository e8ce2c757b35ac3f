import PusherProtocol

/// Seals the events of encrypted channels, which the broker passes on and cannot read.
///
/// The `MasterKey` of the library `FanfareEncryption` is one: `settings.sealer = try MasterKey(base64: …)`. Only
/// programs that import that library link libsodium.
public protocol EventSealer: Sendable {
    /// The key of one channel, which the clients that are let into it get.
    ///
    /// - Parameter channel: The channel's name, with its prefix `private-encrypted-`.
    /// - Returns: 32 bytes as base64.
    func sharedSecret(of channel: String) -> String

    /// Seals the data of an event.
    ///
    /// - Parameters:
    ///   - text: What subscribers are to read, mostly JSON.
    ///   - channel: The channel that it will be triggered on.
    /// - Returns: The data to trigger: `{"nonce":"…","ciphertext":"…"}`.
    func seal(_ text: String, on channel: String) -> String
}

extension FanfareAPI {
    /// The data as it goes to a channel: sealed if the channel is an encrypted one.
    ///
    /// Without a sealer an app may have sealed it by itself; what others could read does not leave.
    func outgoing(_ text: String, on channel: String) throws(FanfareAPIError) -> String {
        guard Self.isEncrypted(channel) else { return text }
        if settings.sealer == nil, Self.isSealed(text) { return text }
        return try sealer(for: channel).seal(text, on: channel)
    }

    /// The data as it goes to several channels, of which each encrypted one would need its own.
    func outgoing(_ text: String, on channels: [String]) throws(FanfareAPIError) -> String {
        guard let channel = channels.first(where: Self.isEncrypted) else { return text }
        guard channels.count == 1 else {
            throw .invalidArgument(
                "\(channel) has a key of its own, so an event for it goes to no other channel: trigger one for each, "
                    + "or a batch"
            )
        }
        return try outgoing(text, on: channel)
    }

    func sealer(for channel: String) throws(FanfareAPIError) -> any EventSealer {
        guard let sealer = settings.sealer else {
            throw .invalidArgument(
                "\(channel) is an encrypted channel: set Settings.sealer to the MasterKey of FanfareEncryption"
            )
        }
        return sealer
    }

    /// Whether a text has the form of sealed data: an object of two strings.
    private static func isSealed(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        var names: Set<String> = []
        do throws(JSONError) {
            var scanner = JSONScanner()
            try scanner.beginObject(in: bytes.span)
            while let name = try scanner.nextName(in: bytes.span) {
                guard try scanner.value(in: bytes.span).kind == .string else { return false }
                names.insert(name.string(in: bytes.span))
            }
            try scanner.finish(in: bytes.span)
        } catch {
            return false
        }
        return names == ["nonce", "ciphertext"]
    }

    private static func isEncrypted(_ channel: String) -> Bool {
        ChannelKind(ofName: Array(channel.utf8).span).isEncrypted
    }
}
