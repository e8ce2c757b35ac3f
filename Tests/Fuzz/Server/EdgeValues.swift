/// Numbers and texts at which arithmetic, a conversion or a search by characters fails.
enum EdgeValues {
    /// The numbers, as peers write them.
    static let numbers = [
        "0", "1", "-1", "2", "2147483647", "2147483648", "-2147483648", "4294967295", "4294967296",
        "9007199254740990", "9007199254740991", "9007199254740992", "9223372036854775",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "18446744073709551615", "18446744073709551616", "0.5", "-0", "1e3", "1e19", "1e999", "",
        "+1", "01", "x",
    ]

    /// The texts, of which some are no UTF-8, and some one giant character.
    static let texts: [[UInt8]] = [
        Array("a".utf8), Array("e\u{301}".utf8), Array("\u{E9}".utf8), [0xFF], [0xC0, 0x80],
        [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x78, 0xCC], [0],
        Array("\u{202E}\u{2028}".utf8), Array("\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}".utf8),
        giant("\u{301}\u{323}", 500), giant("\u{200D}\u{1F469}", 200), giant("\u{1F1E6}", 300),
        giant("\u{1100}\u{1161}", 300), giant("\u{301}\u{323}", 50_000),
    ]

    /// One character of many scalars.
    private static func giant(_ part: String, _ count: Int) -> [UInt8] {
        Array("x".utf8) + [[UInt8]](repeating: Array(part.utf8), count: count).joined()
    }
}
