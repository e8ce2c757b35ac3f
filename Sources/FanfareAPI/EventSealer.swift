import Primitives
import PusherProtocol

/// Encrypts the events of end-to-end encrypted channels, which the broker cannot read.
///
/// `MasterKey` of the module `FanfareEncryption` conforms: `settings.sealer = try MasterKey(base64: …)`.
public protocol EventSealer: Sendable {
    /// Returns the key of one channel, for its authorised clients.
    ///
    /// - Parameter channel: The channel's name, with its prefix `private-encrypted-`.
    /// - Returns: 32 bytes as base64.
    func sharedSecret(of channel: String) -> String

    /// Encrypts the data of an event.
    ///
    /// - Parameters:
    ///   - text: The data for subscribers, usually JSON.
    ///   - channel: The channel to trigger it on.
    /// - Returns: The data to trigger: `{"nonce":"…","ciphertext":"…"}`.
    func seal(_ text: String, on channel: String) -> String
}

extension BrokerAPI {
    /// Returns the data to send to a channel; encrypts it for an encrypted channel.
    ///
    /// Without a sealer, data that the app itself has encrypted is accepted, and plain text is refused.
    func outgoing(_ text: String, on channel: String) throws(FanfareAPIError) -> String {
        guard Self.isEncrypted(channel) else { return text }
        if settings.sealer == nil, Self.isSealed(text) { return text }
        return try sealer(for: channel).seal(text, on: channel)
    }

    /// Returns the data to send to several channels; each encrypted channel has its own key, so it must be the only
    /// one.
    func outgoing(_ text: String, on channels: [String]) throws(FanfareAPIError) -> String {
        guard let channel = channels.first(where: Self.isEncrypted) else { return text }
        guard channels.count == 1 else {
            throw .invalidArgument(
                "\(channel) is encrypted with its own key, so its event cannot go to other channels: "
                    + "trigger one event for each channel, or a batch"
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

    /// Whether a text has the form of encrypted data: an object with two strings.
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
