import Digests

/// The key of the opening handshake and the proof that it was read (RFC 6455 §1.3).
enum HandshakeKey {
    /// Whether the text is 16 bytes in Base64 (§4.1).
    ///
    /// The bits of the last character that carry nothing may be set: the key is never decoded.
    static func isValid(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        return bytes.count == 24 && bytes[22...].elementsEqual("==".utf8)
            && bytes[..<22].allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
    }

    /// The value of `Sec-WebSocket-Accept` (§4.2.2).
    static func accept(for key: String) -> String {
        let text = Array(key.utf8) + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
        return Base64.encode(Digest.sha1(text.span))
    }
}
