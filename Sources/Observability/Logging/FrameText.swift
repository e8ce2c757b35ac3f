import Primitives

/// Messages as the log shows them.
enum FrameText {
    /// The maximum length of a shown text, in characters.
    private static let lengthMax = 1_024

    /// A frame as the log shows it: shortened, and without the signatures of subscriptions and sign-ins.
    static func shown(_ frame: String) -> String {
        let frame = removingSignatures(from: frame)
        let shown = frame.unicodeScalars.prefix(lengthMax)
        guard shown.endIndex < frame.endIndex else { return frame }
        return "\(String(shown))… (\(frame.utf8.count) bytes)"
    }

    /// Replaces the value of each member `auth`, also of an object inside a string.
    private static func removingSignatures(from frame: String) -> String {
        var result: [UInt8] = []
        // Bytes in an array: a peer may have sent any text, and its characters of any length.
        var rest = Array(frame.utf8)[...]
        while let name = rest.range(ofBytes: Array("auth".utf8)) {
            result += rest[..<name.upperBound]
            rest = rest[name.upperBound...]
            guard let start = startOfValue(behind: rest) else { continue }
            result += rest[..<start]
            let value = rest[start...].prefix { $0 != UInt8(ascii: "\"") && $0 != backslash }
            if !value.isEmpty { result += "(signature)".utf8 }
            rest = rest[value.endIndex...]
        }
        return String(decoding: result + rest, as: UTF8.self)
    }

    private static let backslash = UInt8(ascii: "\\")

    /// The index behind the quote that begins a member's value; `nil` if the text does not begin with the end of its name.
    private static func startOfValue(behind name: ArraySlice<UInt8>) -> Int? {
        var rest = name
        for mark in "\":\"".utf8 {
            rest = rest.drop { $0 == backslash || " \t\r\n".utf8.contains($0) }
            guard rest.first == mark else { return nil }
            rest = rest.dropFirst()
        }
        return rest.startIndex
    }
}
