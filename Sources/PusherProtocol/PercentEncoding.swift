/// Percent-encoding (RFC 3986 §2.1).
enum PercentEncoding {
    /// Appends `bytes` with their escapes resolved; a `%` without two digits behind it stands for itself.
    static func appendDecoded(_ bytes: Span<UInt8>, to decoded: inout [UInt8]) {
        var start = 0
        var index = 0
        while let percent = bytes.firstIndex(of: UInt8(ascii: "%"), from: index) {
            index = percent + 1
            guard let byte = escaped(in: bytes, at: index) else { continue }
            decoded.append(bytes.extracting(start..<percent))
            decoded.append(byte)
            index += 2
            start = index
        }
        decoded.append(bytes.extracting(start..<bytes.count))
    }

    /// Returns what the two digits at `index` stand for, or `nil` when there are no two digits.
    static func escaped(in bytes: Span<UInt8>, at index: Int) -> UInt8? {
        guard index + 1 < bytes.count, let high = bytes[index].hexValue,
            let low = bytes[index + 1].hexValue
        else { return nil }
        return high << 4 | low
    }

    /// Returns `bytes` with their escapes resolved.
    static func decode(_ bytes: Span<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        appendDecoded(bytes, to: &decoded)
        return decoded
    }

    /// Returns `text` with everything escaped but the unreserved characters (§2.3).
    static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: "."), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
