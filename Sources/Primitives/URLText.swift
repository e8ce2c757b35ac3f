extension String {
    /// The URL as text to show, without parts that may be secret.
    ///
    /// The user and password, the values of the query, and the fragment are hidden. The path after its first segment is
    /// hidden, and the segment too unless it is a word, because webhook services have their tokens there.
    /// `https://user:pw@a.test/hooks/T0K3N?token=1&x#y` becomes `https://…@a.test/hooks/…?token=…&…#…`. A text whose
    /// host and port cannot be read is hidden after its scheme.
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
        shown += Self.firstWord(of: path, hidden)
        rest = rest[path.endIndex...]
        if rest.first == UInt8(ascii: "?") {
            let query = rest.prefix { $0 != UInt8(ascii: "#") }
            shown += Self.namesAlone(query.dropFirst(), hidden)
            rest = rest[query.endIndex...]
        }
        if !rest.isEmpty { shown += [UInt8(ascii: "#")] + hidden }
        return String(decoding: shown, as: UTF8.self)
    }

    /// Whether the host is followed by nothing or a port; otherwise the rest may be a part of a password.
    private static func endsWithPort(_ authority: ArraySlice<UInt8>) -> Bool {
        let bracket = authority.lastIndex(of: UInt8(ascii: "]"))
        let rest = bracket.map { authority[($0 + 1)...] } ?? authority
        guard let colon = rest.firstIndex(of: UInt8(ascii: ":")) else { return true }
        return rest[(colon + 1)...].allSatisfy { (0x30...0x39).contains($0) }
    }

    /// The first segment of a path if it is a word, such as `hooks` or `v1`; otherwise it is hidden.
    ///
    /// A word has at most 20 lower-case letters, digits (at most two), and `-`, `_`, `.`.
    private static func firstWord(of path: ArraySlice<UInt8>, _ hidden: [UInt8]) -> [UInt8] {
        guard path.count > 1 else { return Array(path) }
        let segment = path.dropFirst().prefix { $0 != UInt8(ascii: "/") }
        let digits = segment.count { (0x30...0x39).contains($0) }
        let isWord =
            segment.count <= 20 && digits <= 2
            && segment.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || "-_.".utf8.contains($0)
            }
        guard isWord else { return [UInt8(ascii: "/")] + hidden }
        let rest = path[segment.endIndex...]
        let shown = [UInt8(ascii: "/")] + segment
        return rest.isEmpty ? shown : shown + [UInt8(ascii: "/")] + (rest.count > 1 ? hidden : [])
    }

    /// A query with only its names; a part without a name is a value.
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
