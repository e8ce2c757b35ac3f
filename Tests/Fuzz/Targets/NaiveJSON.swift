/// A naive JSON parser (RFC 8259), for comparison with the scanner.
enum NaiveJSON: Equatable {
    case object([Member])
    case array([NaiveJSON])
    case string([UInt8])
    /// A number or a literal, as written.
    case word(String)

    struct Member: Equatable {
        var name: [UInt8]
        var value: NaiveJSON
    }

    /// Parses a whole text; `nil` if it is no JSON, or nested deeper than `depthMax`.
    init?(_ text: [UInt8], depthMax: Int) {
        guard let string = String(validating: text, as: UTF8.self) else { return nil }
        var reader = Reader(rest: Array(string.unicodeScalars)[...], depthLeft: depthMax)
        guard let value = reader.value() else { return nil }
        reader.skipSpace()
        guard reader.rest.isEmpty else { return nil }
        self = value
    }

    private struct Reader {
        var rest: ArraySlice<Unicode.Scalar>
        var depthLeft: Int

        mutating func skipSpace() {
            while let next = rest.first, " \t\n\r".unicodeScalars.contains(next) {
                rest.removeFirst()
            }
        }

        mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            guard rest.first == scalar else { return false }
            rest.removeFirst()
            return true
        }

        mutating func value() -> NaiveJSON? {
            skipSpace()
            switch rest.first {
            case "\"": return string().map { .string($0) }
            case "{": return nested { $0.object() }
            case "[": return nested { $0.array() }
            default: return word()
            }
        }

        mutating func nested(_ read: (inout Reader) -> NaiveJSON?) -> NaiveJSON? {
            guard depthLeft > 0 else { return nil }
            depthLeft -= 1
            defer { depthLeft += 1 }
            rest.removeFirst()
            return read(&self)
        }

        mutating func object() -> NaiveJSON? {
            var members: [Member] = []
            skipSpace()
            if take("}") { return .object([]) }
            repeat {
                skipSpace()
                guard rest.first == "\"", let name = string() else { return nil }
                skipSpace()
                guard take(":"), let value = value() else { return nil }
                members.append(Member(name: name, value: value))
                skipSpace()
            } while take(",")
            return take("}") ? .object(members) : nil
        }

        mutating func array() -> NaiveJSON? {
            var elements: [NaiveJSON] = []
            skipSpace()
            if take("]") { return .array([]) }
            repeat {
                guard let element = value() else { return nil }
                elements.append(element)
                skipSpace()
            } while take(",")
            return take("]") ? .array(elements) : nil
        }

        mutating func word() -> NaiveJSON? {
            let word = rest.prefix {
                $0.properties.isASCIIHexDigit || $0.properties.isAlphabetic
                    || "+-.".unicodeScalars.contains($0)
            }
            rest = rest.dropFirst(word.count)
            var text = String.UnicodeScalarView()
            text.append(contentsOf: word)
            let isLiteral = ["true", "false", "null"].contains(String(text))
            guard isLiteral || Self.isNumber(Array(String(text).utf8)) else { return nil }
            return .word(String(text))
        }

        /// `[ minus ] int [ frac ] [ exp ]` (§6).
        static func isNumber(_ text: [UInt8]) -> Bool {
            var rest = text[...]
            func digits(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
                let digits = rest.prefix { 0x30...0x39 ~= $0 }
                rest = rest.dropFirst(digits.count)
                return digits
            }
            if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
            let integer = digits(&rest)
            guard !integer.isEmpty, integer.count == 1 || integer.first != 0x30 else {
                return false
            }
            if rest.first == UInt8(ascii: ".") {
                rest.removeFirst()
                if digits(&rest).isEmpty { return false }
            }
            if let letter = rest.first, [UInt8(ascii: "e"), UInt8(ascii: "E")].contains(letter) {
                rest.removeFirst()
                if let sign = rest.first, [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(sign) {
                    rest.removeFirst()
                }
                if digits(&rest).isEmpty { return false }
            }
            return rest.isEmpty
        }

        mutating func string() -> [UInt8]? {
            rest.removeFirst()
            var text = String.UnicodeScalarView()
            while let scalar = rest.popFirst() {
                switch scalar {
                case "\"": return Array(String(text).utf8)
                case "\\":
                    guard let escaped = escape() else { return nil }
                    text.append(escaped)
                case ..<" ": return nil
                default: text.append(scalar)
                }
            }
            return nil
        }

        mutating func escape() -> Unicode.Scalar? {
            let simple: [Unicode.Scalar: Unicode.Scalar] = [
                "\"": "\"", "\\": "\\", "/": "/", "b": "\u{8}", "f": "\u{C}", "n": "\n",
                "r": "\r", "t": "\t",
            ]
            guard let letter = rest.popFirst() else { return nil }
            if let scalar = simple[letter] { return scalar }
            guard letter == "u", let unit = codeUnit() else { return nil }
            guard 0xD800...0xDFFF ~= unit else { return Unicode.Scalar(unit) }
            let next = rest
            guard unit < 0xDC00, take("\\"), take("u"), let low = codeUnit(),
                0xDC00...0xDFFF ~= low
            else {
                rest = next
                return "\u{FFFD}"
            }
            return Unicode.Scalar(0x1_0000 + (unit - 0xD800) * 0x400 + (low - 0xDC00))
        }

        mutating func codeUnit() -> UInt32? {
            let digits = rest.prefix(4)
            guard digits.count == 4, digits.allSatisfy(\.properties.isASCIIHexDigit) else {
                return nil
            }
            rest = rest.dropFirst(4)
            return UInt32(String(String.UnicodeScalarView(digits)), radix: 16)
        }
    }
}
