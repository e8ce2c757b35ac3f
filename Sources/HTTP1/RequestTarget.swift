import Primitives

/// The forms of a request target (RFC 9112 §3.2).
public enum TargetForm: Sendable {
    /// `/path?query`, the usual form.
    case origin
    /// `http://host/path?query`, for proxies; every server must accept it.
    case absolute
    /// `host:port`: CONNECT only.
    case authority
    /// `*`: OPTIONS only.
    case asterisk
}

/// The parts of a request target, as ranges of the parsed bytes.
struct RequestTarget: Sendable {
    var form: TargetForm
    var path: Range<Int>
    var query: Range<Int>?
    /// The host and port of the absolute form or the authority form.
    var authority: Range<Int>?

    /// Parses the target in `range`; throws `.targetMalformed`.
    init(_ bytes: Span<UInt8>, _ range: Range<Int>, method: Method) throws(HTTPError) {
        guard let first = range.first else { throw .targetMalformed }
        guard bytes.extracting(range).isTarget else { throw .targetMalformed }
        if method == .connect {
            guard Self.isAuthority(bytes, range, needsPort: true) else { throw .targetMalformed }
            form = .authority
            path = range.upperBound..<range.upperBound
            authority = range
        } else if bytes[first] == UInt8(ascii: "/") {
            form = .origin
            (path, query) = Self.split(bytes, range)
        } else if bytes[first] == UInt8(ascii: "*"), range.count == 1 {
            guard method == .options else { throw .targetMalformed }
            form = .asterisk
            path = range
        } else {
            form = .absolute
            let start = try Self.authorityStart(bytes, range)
            var end = start
            while end < range.upperBound, bytes[end] != UInt8(ascii: "/"),
                bytes[end] != UInt8(ascii: "?")
            { end += 1 }
            guard end > start, Self.isAuthority(bytes, start..<end) else { throw .targetMalformed }
            authority = start..<end
            (path, query) = Self.split(bytes, end..<range.upperBound)
        }
    }

    /// Splits a path from the query after its first question mark.
    private static func split(
        _ bytes: Span<UInt8>,
        _ range: Range<Int>
    ) -> (path: Range<Int>, query: Range<Int>?) {
        let mark = bytes.extracting(0..<range.upperBound)
            .firstIndex(of: UInt8(ascii: "?"), from: range.lowerBound)
        guard let mark else { return (range, nil) }
        return (range.lowerBound..<mark, mark + 1..<range.upperBound)
    }

    /// Returns the index of the authority after `scheme "://"` (RFC 3986 §3).
    private static func authorityStart(
        _ bytes: Span<UInt8>,
        _ range: Range<Int>
    ) throws(HTTPError) -> Int {
        var index = range.lowerBound
        guard bytes[index].isLetter else { throw .targetMalformed }
        while index < range.upperBound, bytes[index] != UInt8(ascii: ":") {
            let byte = bytes[index]
            guard
                byte.isLetter || byte.isDigit || byte == UInt8(ascii: "+")
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            else { throw .targetMalformed }
            index += 1
        }
        guard index + 3 <= range.upperBound, bytes.extracting(index..<index + 3).equals("://")
        else { throw .targetMalformed }
        return index + 3
    }

    /// Returns whether the bytes are `uri-host [":" port]` (RFC 3986 §3.2), without user information.
    static func isAuthority(
        _ bytes: Span<UInt8>,
        _ range: Range<Int>,
        needsPort: Bool = false
    ) -> Bool {
        var index = range.lowerBound
        if index < range.upperBound, bytes[index] == UInt8(ascii: "[") {
            index += 1
            let address = index
            while index < range.upperBound,
                bytes[index].hexValue != nil || bytes[index] == UInt8(ascii: ":")
                    || bytes[index] == UInt8(ascii: ".")
            { index += 1 }
            guard index > address, index < range.upperBound, bytes[index] == UInt8(ascii: "]")
            else { return false }
            index += 1
        } else {
            index = bytes.end(of: .registeredName, in: range)
        }
        if index == range.upperBound { return !needsPort }
        guard bytes[index] == UInt8(ascii: ":") else { return false }
        let port = index + 1..<range.upperBound
        if needsPort, port.isEmpty { return false }
        return port.count <= 5 && port.allSatisfy { bytes[$0].isDigit }
    }
}
