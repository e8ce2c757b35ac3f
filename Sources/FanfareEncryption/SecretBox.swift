import CSodium

/// NaCl's secretbox (XSalsa20 and Poly1305), implemented by libsodium.
enum SecretBox {
    /// The length of a nonce, in bytes; random nonces of this length do not repeat for one key.
    static let nonceLength = Int(crypto_secretbox_NONCEBYTES)
    /// The length of the authentication tag before the ciphertext, in bytes.
    static let tagLength = Int(crypto_secretbox_MACBYTES)

    /// Initialises the library, once.
    private static let isReady: Void = {
        // SAFETY: no input; it fails only without a system random source, which is not recoverable.
        precondition(sodium_init() >= 0, "libsodium has no source of random numbers")
    }()

    /// Returns random bytes from the system's source.
    static func random(_ count: Int) -> [UInt8] {
        isReady
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }

    /// Encrypts a text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - nonce: ``nonceLength`` bytes, never used with this key before.
    ///   - key: The key.
    /// - Returns: The tag and the ciphertext, ``tagLength`` bytes longer than the text.
    static func seal(_ text: [UInt8], nonce: [UInt8], key: ChannelKey) -> [UInt8] {
        precondition(nonce.count == nonceLength, "a nonce has \(nonceLength) bytes")
        isReady
        var box = [UInt8](repeating: 0, count: text.count + tagLength)
        // SAFETY: nonce and key have the lengths that the routine reads, and the box has room for its output.
        crypto_secretbox_easy(&box, text, UInt64(text.count), nonce, key.bytes)
        return box
    }

    /// Decrypts a box.
    ///
    /// - Parameters:
    ///   - box: The tag and the ciphertext, at least ``tagLength`` bytes.
    ///   - nonce: The nonce of the encryption, ``nonceLength`` bytes.
    ///   - key: The key.
    /// - Returns: The text; `nil` when the key does not match or the box was changed.
    static func open(_ box: [UInt8], nonce: [UInt8], key: ChannelKey) -> [UInt8]? {
        precondition(
            nonce.count == nonceLength && box.count >= tagLength,
            "the caller checks the lengths"
        )
        isReady
        var text = [UInt8](repeating: 0, count: box.count - tagLength)
        // SAFETY: as in `seal`.
        let status = crypto_secretbox_open_easy(
            &text,
            box,
            UInt64(box.count),
            nonce,
            key.bytes
        )
        return status == 0 ? text : nil
    }
}
