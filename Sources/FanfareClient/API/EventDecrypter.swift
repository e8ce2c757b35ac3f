/// Opens the events of end-to-end encrypted channels.
///
/// The library `FanfareEncryption` has one, `SecretBoxDecrypter`; a client that is given none refuses such channels.
public protocol EventDecrypter: Sendable {
    /// Opens the data of one event.
    ///
    /// - Parameters:
    ///   - data: The event's data: `{"nonce":"…","ciphertext":"…"}`, both base64.
    ///   - sharedSecret: The channel's key, 32 bytes as base64.
    /// - Returns: What the publisher wrote.
    /// - Throws: Why it cannot be opened.
    func open(_ data: String, sharedSecret: String) throws(DecryptionFailure) -> String
}

/// Why the data of an encrypted event cannot be opened.
public enum DecryptionFailure: Error, Sendable, Hashable {
    /// It is not what an encrypted event's data has to be.
    case malformed(String)
    /// The key is not 32 bytes as base64.
    case invalidKey(String)
    /// It was sealed with another key, or changed on the way.
    case wrongKey

    /// Whether the backend may have a key that fits.
    public var mayHaveAnotherKey: Bool { if case .malformed = self { false } else { true } }
}

extension DecryptionFailure: CustomStringConvertible {
    /// What is wrong, for a developer.
    public var description: String {
        switch self {
        case .malformed(let reason):
            """
            its data is no encrypted event (\(reason)): {"nonce":"…","ciphertext":"…"} is expected. \
            Publish to encrypted channels with an SDK that seals what it sends
            """
        case .invalidKey(let reason):
            "the shared_secret of the channel is no key: \(reason), and 32 bytes as base64 are expected"
        case .wrongKey:
            """
            the key does not fit. Publisher and authorisation endpoint have to use the same master key
            """
        }
    }
}
