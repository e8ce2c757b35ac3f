/// HMAC-SHA256 (RFC 2104) under one key, prepared once.
///
/// The two padded halves of the key are absorbed at the start, so that a code costs the message and one more block.
public struct HMACSHA256: Sendable {
    private let key: PreparedKey

    /// Prepares codes under `key`, of any length; one longer than 64 bytes is digested first (RFC 2104 §2).
    public init(key: Span<UInt8>) {
        var block = [UInt8](repeating: 0, count: PreparedKey.blockLength)
        if key.count > block.count {
            let digest = Digest.sha256(key)
            block.replaceSubrange(0..<digest.count, with: digest)
        } else {
            for index in key.indices { block[index] = key[index] }
        }
        self.key = PreparedKey(inner: block.map { $0 ^ 0x36 }, outer: block.map { $0 ^ 0x5C })
    }

    /// Returns the code of `message`, 32 bytes.
    public func code(for message: Span<UInt8>) -> [UInt8] {
        var array: [UInt8] = []
        key.withCode(of: message) { code in
            code.withUnsafeBufferPointer { array.append(contentsOf: $0) }
        }
        return array
    }

    /// Whether `text` is the code of `message` in lower-case hexadecimal digits; compared in constant time.
    public func isCode(_ text: Span<UInt8>, of message: Span<UInt8>) -> Bool {
        var isEqual = false
        key.withCode(of: message) { isEqual = Hex.matches(text, $0) }
        return isEqual
    }
}
