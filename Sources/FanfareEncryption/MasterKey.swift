import Primitives
import Digests
public import FanfareAPI

/// The key from which an app derives the key of each encrypted channel.
///
/// Only the app's backend has it: for its authorisation endpoint and for triggering events. A client gets the
/// ``ChannelKey`` of each channel for which it is authorised. The broker has neither.
public struct MasterKey: Sendable, Hashable {
    /// The length of a key, in bytes.
    public static let length = 32

    private let bytes: [UInt8]

    /// Decodes a key: 32 bytes as base64, such as the output of `openssl rand -base64 32`.
    ///
    /// - Parameter base64: The key.
    /// - Throws: A ``KeyError`` with the reason.
    public init(base64: String) throws(KeyError) { bytes = try KeyError.bytes(of: base64) }

    /// Returns a new random key.
    ///
    /// - Returns: 32 bytes from the system's random source.
    public static func random() -> MasterKey { MasterKey(bytes: SecretBox.random(length)) }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// The key as base64.
    ///
    /// Store it as a secret.
    public var base64: String { Base64.encode(bytes) }

    /// Derives the key of one channel: SHA-256 of the channel's name followed by this key.
    ///
    /// - Parameter channel: The channel's name, with its prefix `private-encrypted-`.
    /// - Returns: The key. An authorisation endpoint returns its ``ChannelKey/base64`` as `shared_secret`.
    public func key(of channel: String) -> ChannelKey {
        ChannelKey(bytes: Digest.sha256((Array(channel.utf8) + bytes).span))
    }

    /// Encrypts the data of an event.
    ///
    /// - Parameters:
    ///   - text: The data for subscribers, usually JSON.
    ///   - channel: The channel to trigger it on.
    /// - Returns: The data to trigger: `{"nonce":"…","ciphertext":"…"}`.
    public func seal(_ text: String, on channel: String) -> String {
        SealedEvent(text, key: key(of: channel)).json
    }
}

/// The key of one encrypted channel.
public struct ChannelKey: Sendable, Hashable {
    let bytes: [UInt8]

    /// Decodes a key: the `shared_secret` of an authorisation, 32 bytes as base64.
    ///
    /// - Parameter base64: The key.
    /// - Throws: A ``KeyError`` with the reason.
    public init(base64: String) throws(KeyError) { bytes = try KeyError.bytes(of: base64) }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The key as base64: the `shared_secret` of an authorisation endpoint's response.
    public var base64: String { Base64.encode(bytes) }
}

/// The reason a text is not a key.
public enum KeyError: Error, Sendable, Hashable {
    /// The text is not base64.
    case notBase64
    /// The text is base64 of this number of bytes instead of 32.
    case wrongLength(Int)

    fileprivate static func bytes(of base64: String) throws(KeyError) -> [UInt8] {
        guard let bytes = Base64.decode(Array(base64.utf8).span) else { throw .notBase64 }
        guard bytes.count == MasterKey.length else { throw .wrongLength(bytes.count) }
        return bytes
    }
}

extension KeyError: CustomStringConvertible {
    /// What is wrong, without the key.
    public var description: String {
        switch self {
        case .notBase64: "it is not base64"
        case .wrongLength(let count): "it has \(count) bytes instead of \(MasterKey.length)"
        }
    }
}

extension MasterKey: CustomStringConvertible, CustomReflectable {
    /// The type's name, without the key.
    public var description: String { "MasterKey(…)" }

    /// An empty mirror, so that dumping the value shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ChannelKey: CustomStringConvertible, CustomReflectable {
    /// The type's name, without the key.
    public var description: String { "ChannelKey(…)" }

    /// An empty mirror, so that dumping the value shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension MasterKey: EventSealer {
    /// Returns the key of one channel as base64: the `shared_secret` for its clients.
    public func sharedSecret(of channel: String) -> String { key(of: channel).base64 }
}
