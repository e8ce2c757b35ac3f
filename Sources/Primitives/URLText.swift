extension String {
    /// The URL as text to show: without its user and password, the values of its query, and its fragment.
    ///
    /// `https://user:pw@a.test/hooks?token=1&x#y` becomes `https://…@a.test/hooks?token=…&…#…`. The path is shown: it is
    /// what tells two endpoints apart. A text whose host and port cannot be read is hidden after its scheme.
    package var withoutURLSecrets: String {
        let bytes = Array(utf8)
        let hidden = Array("…".utf8)
        let scheme = bytes.indices.first { bytes[$0...].starts(with: "://".utf8) }
        // Without a scheme, a user may precede any "@".
        if scheme == nil, bytes.contains(UInt8(ascii: "@")) { return "…" }
        let start = scheme.map { $0 + 3 } ?? 0
        let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
        var shown = Array(bytes[..<start])
        var authority = bytes[start..<end]
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            shown += hidden
            authority = authority[at...]
        }
        guard Self.endsWithPort(authority) else {
            return String(decoding: shown + hidden, as: UTF8.self)
        }
        shown += authority
        var rest = bytes[end...]
        let path = rest.prefix { !"?#".utf8.contains($0) }
        shown += path
        rest = rest[path.endIndex...]
        if rest.first == UInt8(ascii: "?") {
            let query = rest.prefix { $0 != UInt8(ascii: "#") }
            shown += Self.namesAlone(query.dropFirst(), hidden)
            rest = rest[query.endIndex...]
        }
        if !rest.isEmpty { shown += [UInt8(ascii: "#")] + hidden }
        return String(decoding: shown, as: UTF8.self)
    }

    /// Whether what follows the host is nothing, or a port; otherwise it may be a part of a password.
    private static func endsWithPort(_ authority: ArraySlice<UInt8>) -> Bool {
        let bracket = authority.lastIndex(of: UInt8(ascii: "]"))
        let rest = bracket.map { authority[($0 + 1)...] } ?? authority
        guard let colon = rest.firstIndex(of: UInt8(ascii: ":")) else { return true }
        return rest[(colon + 1)...].allSatisfy { (0x30...0x39).contains($0) }
    }

    /// A query with its names; a part without a name is a value.
    private static func namesAlone(_ query: ArraySlice<UInt8>, _ hidden: [UInt8]) -> [UInt8] {
        let parts = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        var shown = [UInt8(ascii: "?")]
        for (index, part) in parts.enumerated() {
            if index > 0 { shown.append(UInt8(ascii: "&")) }
            if let equals = part.firstIndex(of: UInt8(ascii: "=")) { shown += part[...equals] }
            if part.last != UInt8(ascii: "="), !part.isEmpty { shown += hidden }
        }
        return shown
    }
}
