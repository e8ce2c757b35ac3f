import Digests

/// The key from which an app makes the key of each of its encrypted channels.
///
/// It belongs to the app's backend alone: to its authorisation endpoint and to what triggers events. Clients get the
/// ``ChannelKey`` of the channels that they are let into. Neither the broker nor anybody on the way has either.
public struct MasterKey: Sendable, Hashable {
    /// The length of a key, in bytes.
    public static let length = 32

    private let bytes: [UInt8]

    /// Reads a key: 32 bytes as base64, as `openssl rand -base64 32` writes them.
    ///
    /// - Parameter base64: The key.
    /// - Throws: ``KeyError``.
    public init(base64: String) throws(KeyError) { bytes = try KeyError.bytes(of: base64) }

    /// Makes a new key.
    ///
    /// - Returns: 32 random bytes of the system's source.
    public static func random() -> MasterKey { MasterKey(bytes: SecretBox.random(length)) }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// The key as base64, to be kept where secrets are kept.
    public var base64: String { Base64.encode(bytes) }

    /// Makes the key of one channel: SHA-256 of the channel's name and this key.
    ///
    /// - Parameter channel: The channel's name, with its prefix `private-encrypted-`.
    /// - Returns: The key, whose ``ChannelKey/base64`` an authorisation endpoint answers as `shared_secret`.
    public func key(of channel: String) -> ChannelKey {
        ChannelKey(bytes: Digest.sha256((Array(channel.utf8) + bytes).span))
    }

    /// Seals the data of an event.
    ///
    /// - Parameters:
    ///   - text: What subscribers are to read, mostly JSON.
    ///   - channel: The channel that it will be triggered on.
    /// - Returns: The data to trigger: `{"nonce":"…","ciphertext":"…"}`.
    public func seal(_ text: String, on channel: String) -> String {
        SealedEvent(text, key: key(of: channel)).json
    }
}

/// The key of one encrypted channel.
public struct ChannelKey: Sendable, Hashable {
    let bytes: [UInt8]

    /// Reads a key: the `shared_secret` of an authorisation, 32 bytes as base64.
    ///
    /// - Parameter base64: The key.
    /// - Throws: ``KeyError``.
    public init(base64: String) throws(KeyError) { bytes = try KeyError.bytes(of: base64) }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The key as base64: what an authorisation endpoint answers as `shared_secret`.
    public var base64: String { Base64.encode(bytes) }
}

/// Why a text is no key.
public enum KeyError: Error, Sendable, Hashable {
    /// It is not base64.
    case notBase64
    /// It is base64 of so many bytes instead of 32.
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
    /// Says that there is a key, and nothing of it.
    public var description: String { "MasterKey(…)" }

    /// Shows nothing, whoever dumps the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ChannelKey: CustomStringConvertible, CustomReflectable {
    /// Says that there is a key, and nothing of it.
    public var description: String { "ChannelKey(…)" }

    /// Shows nothing, whoever dumps the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
