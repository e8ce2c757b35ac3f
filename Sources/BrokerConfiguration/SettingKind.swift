internal import Logging
internal import Net

/// A kind of value: how its text is parsed, which values are valid, and how a value is printed.
struct SettingKind<Value: Sendable>: Sendable {
    /// The description of a valid value, worded to follow "must be": `a port from 0 to 65535`.
    let expectation: String
    /// Parses a text; `nil` when it is invalid.
    let read: @Sendable (String) -> Value?
    /// Whether a value is within its bounds.
    let isValid: @Sendable (Value) -> Bool
    /// The text of a value, as in the file.
    let text: @Sendable (Value) -> String
    /// The value that the noneValue of a value stands for, if noneValue is allowed.
    var noneValue: Value?
    /// Whether the value must not be printed, in a fault or elsewhere.
    var isSecret = false
    /// The valid values in a few words, for the reference: `1 to 1024`; `nil` where only the expectation describes them.
    var range: String?

    /// The same kind, with `none` for the noneValue of a value.
    func orNone() -> SettingKind<Value?> {
        SettingKind<Value?>(
            expectation: "\(expectation), or none",
            read: { [read] in read($0).map(Optional.some) },
            isValid: { [isValid] in $0.map(isValid) ?? true },
            text: { [text] in $0.map(text) ?? "none" },
            noneValue: .some(nil),
            isSecret: isSecret,
            range: range.map { "\($0), or none" }
        )
    }

    /// The same kind of a type that valid values are converted to: a rate, a time.
    func map<Other>(
        _ converted: @escaping @Sendable (Value) -> Other,
        from original: @escaping @Sendable (Other) -> Value
    ) -> SettingKind<Other> {
        SettingKind<Other>(
            expectation: expectation,
            read: { [read, isValid] in read($0).flatMap { isValid($0) ? converted($0) : nil } },
            isValid: { [isValid] in isValid(original($0)) },
            text: { [text] in text(original($0)) },
            noneValue: noneValue.map(converted),
            isSecret: isSecret,
            range: range
        )
    }

    /// Reads the value at a place; returns `nil` and adds a fault if the text is invalid.
    func read(_ place: SettingTree, _ faults: inout [ConfigurationFault]) -> Value? {
        // A list or section in place of a value has its fault already.
        guard let setting = place.setting else { return nil }
        return read(setting, &faults)
    }

    /// Parses a setting's value; returns `nil` and adds a fault if the text is invalid.
    func read(_ setting: Setting, _ faults: inout [ConfigurationFault]) -> Value? {
        if case .text(let text, _) = setting.value,
            let value = setting.value.isNone ? noneValue : read(text)
        {
            return value
        }
        let written =
            switch setting.value {
            case .text where setting.value.isNone: "nothing"
            case .text(let text, _): isSecret ? "this" : "\"\(text)\""
            case .emptyList, .emptySection: "a list or section"
            }
        faults.append(setting.fault("must be \(expectation), not \(written)"))
        return nil
    }

    /// Returns the fault of a value that is out of bounds.
    func faults(of value: Value, at key: String) -> [ConfigurationFault] {
        if isValid(value) { return [] }
        let problem = "must be \(expectation), not \"\(text(value))\""
        return [ConfigurationFault(key: key, problem: problem)]
    }
}

extension SettingKind<Int> {
    /// A whole number; `_` may separate digits.
    static func count(_ things: String, in range: ClosedRange<Int>) -> Self {
        Self(
            expectation: "\(things) from \(range.lowerBound) to \(range.upperBound)",
            read: digits,
            isValid: range.contains,
            text: { "\($0)" },
            range: "\(range.lowerBound) to \(range.upperBound)"
        )
    }

    /// A number of bytes, with an optional unit `KiB` or `MiB`.
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
            isValid: range.contains,
            text: byteText,
            range: "\(from) to \(to)"
        )
    }

    private static func byteText(_ count: Int) -> String {
        if count >= 1 << 20, count % (1 << 20) == 0 { return "\(count >> 20) MiB" }
        if count >= 1 << 10, count % (1 << 10) == 0 { return "\(count >> 10) KiB" }
        return "\(count)"
    }
}

/// Parses decimal digits, with `_` as an optional separator.
private func digits(_ text: String) -> Int? {
    guard text.utf8.first != UInt8(ascii: "_"), text.utf8.last != UInt8(ascii: "_"),
        text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") })
    else { return nil }
    return Int(text.filter { $0 != "_" })
}

extension SettingKind<Duration> {
    /// A number of seconds.
    static func seconds(in range: ClosedRange<Int>) -> Self {
        SettingKind<Int>.count("a number of seconds", in: range)
            .map(Duration.seconds, from: { Int($0.components.seconds) })
    }
}

extension SettingKind<UInt16> {
    /// A TCP port.
    static var port: Self {
        Self(
            expectation: "a port from 0 to 65535 (0 takes any free one)",
            read: { digits($0).flatMap(UInt16.init(exactly:)) },
            isValid: { _ in true },
            text: { "\($0)" },
            range: "0 to 65535"
        )
    }
}

extension SettingKind<Bool> {
    /// `true` or `false`.
    static var yesOrNo: Self {
        Self(
            expectation: "true or false",
            read: { ["true": true, "false": false][$0] },
            isValid: { _ in true },
            text: { "\($0)" }
        )
    }
}

extension SettingKind<String> {
    /// Creates a kind of text, which unless told otherwise is kept and printed as it is written.
    init(
        _ expectation: String,
        read: @escaping @Sendable (String) -> String? = { $0 },
        text: @escaping @Sendable (String) -> String = { $0 },
        noneValue: String? = nil,
        isSecret: Bool = false,
        isValid: @escaping @Sendable (String) -> Bool
    ) {
        (self.expectation, self.read, self.isValid, self.text) = (expectation, read, isValid, text)
        (self.noneValue, self.isSecret) = (noneValue, isSecret)
    }

    /// A numeric IP address; a name would need a lookup, and may have several addresses.
    static var address: Self {
        Self(
            "an IP address (127.0.0.1 or ::1 for this machine alone, "
                + "0.0.0.0 or :: for every network)",
            read: { text in
                if text == "localhost" { return "127.0.0.1" }
                let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
                return isBracketed ? String(text.dropFirst().dropLast()) : text
            }
        ) { !$0.hasPrefix("[") && SocketAddress(ip: $0, port: 0) != nil }
    }

    /// The path of a file.
    static func path(_ what: String, lengthMax: Int = 4_095) -> Self {
        Self("\(what), at most \(lengthMax) bytes") {
            !$0.isEmpty && $0.utf8.count <= lengthMax && !$0.utf8.contains(0)
        }
    }

    /// A path prefix: empty, or `/segment` once or more.
    static var pathPrefix: Self {
        Self(
            "a path as /realtime, without a slash at its end, or none",
            text: { $0.isEmpty ? "none" : $0 },
            noneValue: ""
        ) { prefix in
            prefix.isEmpty
                || prefix.hasPrefix("/") && !prefix.hasSuffix("/") && prefix.utf8.count <= 200
                    && prefix.utf8.allSatisfy { isWordByte($0) || "/.~".utf8.contains($0) }
        }
    }

    /// An app's ID or key, which becomes part of URLs.
    static var word: Self {
        Self("1 to 100 letters, digits, - or _") {
            (1...100).contains($0.utf8.count) && $0.utf8.allSatisfy(isWordByte)
        }
    }

    /// A secret, which is never printed.
    static var secret: Self {
        Self(
            "1 to 256 characters of ASCII without spaces",
            text: { _ in "(secret)" },
            isSecret: true
        ) { (1...256).contains($0.utf8.count) && $0.utf8.allSatisfy { $0 > 32 && $0 < 127 } }
    }
}

/// Whether a byte may be in an app's ID or key.
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
        let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return Self(
            expectation: "one of \(words)",
            read: { Value(rawValue: $0) },
            isValid: { _ in true },
            text: \.rawValue,
            range: words
        )
    }
}
