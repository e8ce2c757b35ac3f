import Primitives

/// NaCl's secretbox: XSalsa20 and Poly1305, as in "Cryptography in NaCl" (2009), §§ 9 and 10.
enum SecretBox {
    /// The length of a nonce, in bytes; random nonces of this length do not repeat for one key.
    static let nonceLength = 24
    /// The length of the authentication tag before the ciphertext, in bytes.
    static let tagLength = Poly1305.length
    /// The bytes of the key stream before those for the text: Poly1305's key.
    private static let prefixLength = 32

    /// Returns random bytes from the system's cryptographic source.
    static func random(_ count: Int) -> [UInt8] {
        var system = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        while bytes.count < count {
            withUnsafeBytes(of: system.next() as UInt64) { bytes += $0.prefix(count - bytes.count) }
        }
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
        var bytes = [UInt8](repeating: 0, count: prefixLength) + text
        XSalsa20(key: key.bytes, nonce: nonce).apply(to: &bytes)
        let box = bytes.span.extracting(prefixLength...)
        return Poly1305.tag(of: box, key: bytes.span.extracting(..<prefixLength))
            + bytes[prefixLength...]
    }

    /// Decrypts a box.
    ///
    /// - Parameters:
    ///   - box: The tag and the ciphertext, at least ``tagLength`` bytes.
    ///   - nonce: The nonce of the encryption, ``nonceLength`` bytes.
    ///   - key: The key.
    /// - Returns: The text; `nil` when the key does not match or the box was changed.
    static func open(_ box: [UInt8], nonce: [UInt8], key: ChannelKey) -> [UInt8]? {
        let stream = XSalsa20(key: key.bytes, nonce: nonce)
        var oneTimeKey = [UInt8](repeating: 0, count: prefixLength)
        stream.apply(to: &oneTimeKey)
        let tag = Poly1305.tag(of: box.span.extracting(tagLength...), key: oneTimeKey.span)
        guard Poly1305.isEqual(tag, box.span) else { return nil }
        var bytes = oneTimeKey + box[tagLength...]
        stream.apply(to: &bytes)
        return Array(bytes[prefixLength...])
    }
}
