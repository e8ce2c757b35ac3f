internal import Logging

/// What a key's value may be: how its text is read, which values hold, and how one is shown.
struct SettingKind<Value: Sendable>: Sendable {
    /// What to write, as what follows "must be": `a port from 0 to 65535`.
    let expectation: String
    /// The value that a text stands for; `nil` when it stands for none.
    let read: @Sendable (String) -> Value?
    /// Whether the value is within its bounds.
    let holds: @Sendable (Value) -> Bool
    /// The value as one would write it.
    let text: @Sendable (Value) -> String
    /// What the absence of a value stands for, where that is allowed.
    var absence: Value?
    /// Whether the value must not be repeated, in a fault or anywhere else.
    var isSecret = false

    /// The same kind, where `none` may stand for the absence of a value.
    func orNone() -> SettingKind<Value?> {
        SettingKind<Value?>(
            expectation: "\(expectation), or none",
            read: { [read] in read($0).map(Optional.some) },
            holds: { [holds] in $0.map(holds) ?? true },
            text: { [text] in $0.map(text) ?? "none" },
            absence: .some(nil),
            isSecret: isSecret
        )
    }
}

extension SettingKind<Int> {
    /// A whole number; `_` may separate digits.
    static func count(_ things: String, in range: ClosedRange<Int>) -> Self {
        Self(
            expectation: "\(things) from \(range.lowerBound) to \(range.upperBound)",
            read: digits,
            holds: range.contains,
            text: { "\($0)" }
        )
    }

    /// A number of bytes, which `KiB` or `MiB` may follow.
    static func bytes(in range: ClosedRange<Int>) -> Self {
        let from = byteText(range.lowerBound)
        let to = byteText(range.upperBound)
        return Self(
            expectation: "a number of bytes from \(from) to \(to), as 16384 or 16 KiB",
            read: { text in
                for (unit, shift) in [("KiB", 10), ("MiB", 20)] where text.hasSuffix(unit) {
                    let number = text.dropLast(unit.count)
                    let count = digits(String(number.last == " " ? number.dropLast() : number))
                    let (bytes, isOver) = (count ?? -1).multipliedReportingOverflow(by: 1 << shift)
                    return isOver || bytes < 0 ? nil : bytes
                }
                return digits(text)
            },
            holds: range.contains,
            text: byteText
        )
    }

    private static func byteText(_ count: Int) -> String {
        if count >= 1 << 20, count % (1 << 20) == 0 { return "\(count >> 20) MiB" }
        if count >= 1 << 10, count % (1 << 10) == 0 { return "\(count >> 10) KiB" }
        return "\(count)"
    }
}

/// Reads decimal digits, which `_` may separate.
private func digits(_ text: String) -> Int? {
    guard text.utf8.first != UInt8(ascii: "_"), text.utf8.last != UInt8(ascii: "_"),
        text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") })
    else { return nil }
    return Int(text.filter { $0 != "_" })
}

extension SettingKind<UInt16> {
    /// A TCP port.
    static var port: Self {
        Self(
            expectation: "a port from 0 to 65535 (0 takes any free one)",
            read: { digits($0).flatMap(UInt16.init(exactly:)) },
            holds: { _ in true },
            text: { "\($0)" }
        )
    }
}

extension SettingKind<Bool> {
    /// `true` or `false`.
    static var yesOrNo: Self {
        Self(
            expectation: "true or false",
            read: { ["true": true, "false": false][$0] },
            holds: { _ in true },
            text: { "\($0)" }
        )
    }
}

extension SettingKind<String> {
    /// An IP address, by its digits: a name would have to be asked for, and may stand for several.
    static var address: Self {
        Self(
            expectation: "an IP address (127.0.0.1 or ::1 for this machine alone, "
                + "0.0.0.0 or :: for every network)",
            read: { text in
                if text == "localhost" { return "127.0.0.1" }
                let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
                return isBracketed ? String(text.dropFirst().dropLast()) : text
            },
            holds: { IPAddress($0) != nil },
            text: { $0 }
        )
    }

    /// The path of a file.
    static func path(_ what: String, lengthMax: Int = 4_095) -> Self {
        Self(
            expectation: "\(what), at most \(lengthMax) bytes",
            read: { $0 },
            holds: { !$0.isEmpty && $0.utf8.count <= lengthMax && !$0.utf8.contains(0) },
            text: { $0 }
        )
    }

    /// What paths begin with; nothing or `/segment`, once or more.
    static var pathPrefix: Self {
        Self(
            expectation: "a path as /realtime, without a slash at its end, or none",
            read: { $0 },
            holds: { prefix in
                prefix.isEmpty
                    || prefix.hasPrefix("/") && !prefix.hasSuffix("/")
                        && prefix.utf8.count <= 200
                        && prefix.utf8.allSatisfy { isWordByte($0) || "/.~".utf8.contains($0) }
            },
            text: { $0.isEmpty ? "none" : $0 },
            absence: ""
        )
    }

    /// An app's ID or key, which becomes part of URLs.
    static var word: Self {
        Self(
            expectation: "1 to 100 letters, digits, - or _",
            read: { $0 },
            holds: { (1...100).contains($0.utf8.count) && $0.utf8.allSatisfy(isWordByte) },
            text: { $0 }
        )
    }

    /// What must not be shown.
    static var secret: Self {
        Self(
            expectation: "1 to 256 characters of ASCII without spaces",
            read: { $0 },
            holds: {
                (1...256).contains($0.utf8.count) && $0.utf8.allSatisfy { $0 > 32 && $0 < 127 }
            },
            text: { _ in "(secret)" },
            isSecret: true
        )
    }
}

func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
    default: false
    }
}

extension SettingKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of a few words.
    static var choice: Self {
        Self(
            expectation: "one of " + Value.allCases.map(\.rawValue).joined(separator: ", "),
            read: { Value(rawValue: $0) },
            holds: { _ in true },
            text: \.rawValue
        )
    }
}
