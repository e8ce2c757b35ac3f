/// Lower-case hexadecimal text, two digits per byte.
public enum Hex {
    /// Returns the digits of `bytes`.
    public static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 0x0F))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns random digits, of the system's source.
    public static func random(length: Int) -> String {
        var digits = ""
        while digits.count < length {
            let part = String(UInt64.random(in: .min ... .max), radix: 16)
            digits += String(repeating: "0", count: 16 - part.count) + part
        }
        return String(digits.prefix(length))
    }

    /// Returns whether `text` is the result of ``encode(_:)``, in a time that depends on the lengths only.
    public static func matches(_ text: Span<UInt8>, _ bytes: Span<UInt8>) -> Bool {
        guard text.count == 2 * bytes.count else { return false }
        var difference: UInt64 = 0
        var index = 0
        while index + 4 <= bytes.count {
            // SAFETY: four bytes from `index` on, and eight from twice that, are inside their spans.
            let four = bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt32.self)
            let eight = text.bytes.unsafeLoadUnaligned(fromByteOffset: 2 * index, as: UInt64.self)
            difference |= digits(of: UInt32(littleEndian: four)) ^ UInt64(littleEndian: eight)
            index += 4
        }
        for index in index..<bytes.count {
            difference |= UInt64(text[2 * index] ^ digit(bytes[index] >> 4))
            difference |= UInt64(text[2 * index + 1] ^ digit(bytes[index] & 0x0F))
        }
        return difference == 0
    }

    /// Returns the eight digits of four bytes, the first of each in the lowest lane, computed in one word.
    private static func digits(of four: UInt32) -> UInt64 {
        var lanes = UInt64(four)
        lanes = (lanes | lanes << 16) & 0x0000_FFFF_0000_FFFF
        lanes = (lanes | lanes << 8) & 0x00FF_00FF_00FF_00FF
        let values = lanes >> 4 & 0x000F_000F_000F_000F | (lanes & 0x000F_000F_000F_000F) << 8
        let isLetter = (values &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return values &+ 0x3030_3030_3030_3030 &+ isLetter &* 39
    }

    /// Returns the digit of a value below 16, without a branch or a table, because the value may be secret.
    private static func digit(_ value: UInt8) -> UInt8 {
        let isLetter = (9 &- value) >> 7
        return UInt8(ascii: "0") &+ value &+ isLetter &* (UInt8(ascii: "a") - UInt8(ascii: "9") - 1)
    }

    /// Decodes `text`; `nil` for an odd length or characters other than `0–9` and `a–f`.
    ///
    /// Upper-case digits are refused, because Pusher signatures are compared as lower-case text.
    public static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        for index in stride(from: 0, to: text.count, by: 2) {
            guard let high = value(of: text[index]), let low = value(of: text[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
