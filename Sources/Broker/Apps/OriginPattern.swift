/// A pattern of allowed origins: `https://example.com`, or `https://*.example.com` for all its subdomains.
///
/// An origin is a scheme, a host and a port, unless the port is the scheme's default (RFC 6454 §7.1). Browsers send it
/// with a handshake, and a page cannot forge it.
public struct OriginPattern: Sendable, Equatable {
    /// The scheme and `://`, in lower case.
    private let scheme: [UInt8]
    /// The host and the port, in lower case; after a wildcard, the required suffix of the host.
    private let place: [UInt8]
    private let isWildcard: Bool

    /// Parses a pattern; `nil` if it is malformed.
    ///
    /// - Parameter text: A scheme, `://`, and a host that may begin with `*.`, with a port if it is not the scheme's
    ///   default. No path, and no slash at the end.
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
        // Browsers omit the scheme's default port.
        let isImplied =
            (scheme, number) == (Array("https://".utf8), 443)
            || (scheme, number) == (Array("http://".utf8), 80)
        self.place = Array(isImplied ? host : place)
    }

    /// Whether the pattern matches an origin, as in the field `Origin`.
    public func admits(_ origin: Span<UInt8>) -> Bool {
        let start = scheme.count
        let end = origin.count - place.count
        guard end >= start, OriginPattern.matches(scheme, origin, at: 0),
            OriginPattern.matches(place, origin, at: end)
        else { return false }
        guard isWildcard else { return end == start }
        // At least one label, and nothing else: `https://evil.test/.example.com` is not a subdomain of `example.com`.
        guard end > start, origin[start] != UInt8(ascii: ".") else { return false }
        for index in start..<end where !OriginPattern.isNameByte(origin[index]) { return false }
        return true
    }

    /// Splits `host:port`; the host may be an IPv6 address in brackets.
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

    /// Whether a byte may occur in the name of a host or in a scheme.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch lowercased(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
