/// Decrypts the events of end-to-end encrypted channels.
///
/// The module `FanfareEncryption` provides `SecretBoxDecrypter`. Without a decrypter, subscriptions to encrypted
/// channels fail.
public protocol EventDecrypter: Sendable {
    /// Decrypts the data of one event.
    ///
    /// - Parameters:
    ///   - data: The event's data: `{"nonce":"…","ciphertext":"…"}`, both base64.
    ///   - sharedSecret: The channel's key, 32 bytes as base64.
    /// - Returns: The publisher's data.
    /// - Throws: A ``DecryptionFailure`` with the reason.
    func open(_ data: String, sharedSecret: String) throws(DecryptionFailure) -> String
}

/// The reason the data of an encrypted event cannot be decrypted.
public enum DecryptionFailure: Error, Sendable, Hashable {
    /// The data does not have the form of an encrypted event.
    case malformed(String)
    /// The key is not 32 bytes as base64.
    case invalidKey(String)
    /// The data was encrypted with another key or changed in transit.
    case wrongKey

    /// Whether a new key from the backend may help.
    package var mayHaveAnotherKey: Bool { if case .malformed = self { false } else { true } }
}

extension DecryptionFailure: CustomStringConvertible {
    /// The reason and what to do, for a developer.
    public var description: String {
        switch self {
        case .malformed(let reason):
            """
            its data is not encrypted (\(reason)): expected {"nonce":"…","ciphertext":"…"}. \
            Publish to encrypted channels with an SDK that encrypts
            """
        case .invalidKey(let reason):
            "the channel's shared_secret is not a key: \(reason); expected 32 bytes as base64"
        case .wrongKey:
            """
            the key does not match. Publisher and authorisation endpoint must use the same master key
            """
        }
    }
}
