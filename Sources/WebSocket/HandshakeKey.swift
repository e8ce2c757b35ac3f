import Digests

/// The key of the opening handshake and the accept value derived from it (RFC 6455 §1.3).
enum HandshakeKey {
    /// Returns whether the text is 16 bytes in Base64 (§4.1).
    ///
    /// The unused bits of the last character are ignored, because the key is never decoded.
    static func isValid(_ key: Span<UInt8>) -> Bool {
        guard key.count == 24, key[22] == UInt8(ascii: "="), key[23] == UInt8(ascii: "=") else {
            return false
        }
        for index in 0..<22 {
            switch key[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                continue
            default: return false
            }
        }
        return true
    }

    /// Returns the value of `Sec-WebSocket-Accept` (§4.2.2).
    static func accept(for key: String) -> String {
        let key = key.utf8
        return accept(for: key.span)
    }

    /// The same for a borrowed key.
    static func accept(for key: Span<UInt8>) -> String {
        let length = key.count + identifier.utf8CodeUnitCount
        var accept = ""
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { text in
            // SAFETY: the key and the identifier fill the text completely.
            let end = key.withUnsafeBufferPointer { text.initialize(fromContentsOf: $0) }
            _ = identifier.withUTF8Buffer { text[end...].initialize(fromContentsOf: $0) }
            Digest.withSHA1(of: text.span) { accept = Base64.encode($0) }
        }
        return accept
    }

    /// The fixed GUID that is appended to the key (§1.3).
    private static let identifier: StaticString = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
}

extension [UInt8] {
    /// Appends the bytes of a literal.
    mutating func append(_ literal: StaticString) {
        literal.withUTF8Buffer { append(contentsOf: $0) }
    }
}
