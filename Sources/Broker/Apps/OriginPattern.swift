/// What the origin of a web page must be for its clients to be let in: `https://example.com`, or
/// `https://*.example.com` for every name beneath that one.
///
/// An origin is a scheme, a host and a port unless that is the scheme's own (RFC 6454 §7.1); browsers send it with a
/// handshake, and a page cannot forge it.
public struct OriginPattern: Sendable, Equatable {
    /// The scheme and `://`, in lower case.
    private let scheme: [UInt8]
    /// The host and the port, in lower case; behind a wildcard, what the host must end with.
    private let place: [UInt8]
    private let isWildcard: Bool

    /// Reads a pattern; `nil` when it is none.
    ///
    /// - Parameter text: A scheme, `://`, a host that may begin with `*.`, and a port if it is not the scheme's own;
    ///   no path, and no slash at the end.
    public init?(_ text: String) {
        let bytes = text.utf8.map(OriginPattern.lowercased)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[colon...].starts(with: "://".utf8), let first = bytes.first,
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first),
            bytes[..<colon].allSatisfy({ OriginPattern.isNameByte($0) || $0 == UInt8(ascii: "+") })
        else { return nil }
        scheme = Array(bytes[..<(colon + 3)])
        var place = bytes[(colon + 3)...]
        isWildcard = place.starts(with: "*.".utf8)
        if isWildcard { place = place.dropFirst() }
        guard let (host, port) = OriginPattern.parts(of: place) else { return nil }
        guard let port else {
            self.place = Array(host)
            return
        }
        guard let number = UInt16(String(decoding: port, as: UTF8.self)), number > 0,
            let digit = port.first, (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(digit)
        else { return nil }
        // Browsers leave the scheme's own port out.
        let isImplied =
            (scheme, number) == (Array("https://".utf8), 443)
            || (scheme, number) == (Array("http://".utf8), 80)
        self.place = Array(isImplied ? host : place)
    }

    /// Whether the pattern admits an origin, as it stands in the field `Origin`.
    public func admits(_ origin: Span<UInt8>) -> Bool {
        let start = scheme.count
        let end = origin.count - place.count
        guard end >= start, OriginPattern.matches(scheme, origin, at: 0),
            OriginPattern.matches(place, origin, at: end)
        else { return false }
        guard isWildcard else { return end == start }
        // One name or more, and nothing else: `https://evil.test/.example.com` is not beneath `example.com`.
        guard end > start, origin[start] != UInt8(ascii: ".") else { return false }
        for index in start..<end where !OriginPattern.isNameByte(origin[index]) { return false }
        return true
    }

    /// The host and the port of `host:port`; the host may be an IPv6 address in brackets.
    private static func parts(
        of place: ArraySlice<UInt8>
    ) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>?)? {
        let isBracketed = place.first == UInt8(ascii: "[")
        let bracket = isBracketed ? place.firstIndex(of: UInt8(ascii: "]")) : nil
        let hostEnd =
            bracket.map { $0 + 1 } ?? place.firstIndex(of: UInt8(ascii: ":")) ?? place.endIndex
        let host = place[..<hostEnd]
        let isHost =
            isBracketed
            ? host.count > 2
                && host.dropFirst().dropLast()
                    .allSatisfy { isNameByte($0) || $0 == UInt8(ascii: ":") }
            : host.contains { $0 != UInt8(ascii: ".") } && host.allSatisfy(isNameByte)
        guard isHost else { return nil }
        guard hostEnd < place.endIndex else { return (host, nil) }
        guard place[hostEnd] == UInt8(ascii: ":") else { return nil }
        return (host, place[(hostEnd + 1)...])
    }

    private static func matches(_ text: [UInt8], _ origin: Span<UInt8>, at start: Int) -> Bool {
        for index in text.indices where lowercased(origin[start + index]) != text[index] {
            return false
        }
        return true
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    /// Whether a byte may stand in the name of a host; in a scheme, too.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch lowercased(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
