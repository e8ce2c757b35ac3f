import CSodium

/// NaCl's secretbox, XSalsa20 and Poly1305, as libsodium does it.
enum SecretBox {
    /// What does not repeat under one key, in bytes: long enough to be random.
    static let nonceLength = Int(crypto_secretbox_NONCEBYTES)
    /// What proves that nothing was changed, in front of the ciphertext.
    static let tagLength = Int(crypto_secretbox_MACBYTES)

    /// Chooses the library's routines for this machine and opens its random source; once.
    private static let isReady: Void = {
        // SAFETY: no input; it fails only where the system has no random source, and then nothing can be done.
        precondition(sodium_init() >= 0, "libsodium finds no source of random numbers")
    }()

    /// Random bytes of the system's source.
    static func random(_ count: Int) -> [UInt8] {
        isReady
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }

    /// Seals a text.
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
        // SAFETY: nonce and key have the lengths that the routine reads, and the box room for what it writes.
        crypto_secretbox_easy(&box, text, UInt64(text.count), nonce, key.bytes)
        return box
    }

    /// Opens a box.
    ///
    /// - Parameters:
    ///   - box: The tag and the ciphertext, ``tagLength`` bytes at least.
    ///   - nonce: The nonce that it was sealed with, ``nonceLength`` bytes.
    ///   - key: The key.
    /// - Returns: The text; `nil` when the key is another or anything was changed.
    static func open(_ box: [UInt8], nonce: [UInt8], key: ChannelKey) -> [UInt8]? {
        precondition(
            nonce.count == nonceLength && box.count >= tagLength,
            "lengths are checked before"
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
