// Text of peers is searched by bytes. Swift compares texts by characters, in canonical order. It sorts the combining
// marks of one character, in a time quadratic in their number, and a peer may send a hundred thousand.

extension String {
    /// Whether the bytes of `part` are among those of the text.
    public func contains(bytesOf part: String) -> Bool {
        Array(utf8)[...].range(ofBytes: Array(part.utf8)) != nil
    }

    /// Returns the text with each occurrence of the bytes of `part` replaced.
    public func replacing(bytesOf part: String, with replacement: String) -> String {
        let part = Array(part.utf8)
        var rest = Array(utf8)[...]
        var result: [UInt8] = []
        while let range = rest.range(ofBytes: part), !range.isEmpty {
            result += rest[..<range.lowerBound]
            result += replacement.utf8
            rest = rest[range.upperBound...]
        }
        return result.isEmpty ? self : String(decoding: result + rest, as: UTF8.self)
    }
}

extension ArraySlice<UInt8> {
    /// Returns the range of the first occurrence of `part`; `nil` if there is none.
    public func range(ofBytes part: [UInt8]) -> Range<Int>? {
        guard let first = part.first else { return startIndex..<startIndex }
        guard count >= part.count else { return nil }
        let last = endIndex - part.count
        var index = startIndex
        while index <= last {
            guard let start = self[index...last].firstIndex(of: first) else { return nil }
            if self[start..<start + part.count].elementsEqual(part) {
                return start..<start + part.count
            }
            index = start + 1
        }
        return nil
    }
}
