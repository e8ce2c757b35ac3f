import Primitives

/// The parameters of a query string, names in lower case, values decoded, sorted by name.
///
/// This is the form that the HTTP API signs. All text is in one buffer, so a query of any length costs two allocations.
public struct QueryParameters: Sendable {
    struct Entry {
        var name: Range<Int>
        var value: Range<Int>

        /// The range of `name=value`; `nil` for a name without `=`.
        var pair: Range<Int>? {
            value.lowerBound == name.upperBound + 1 ? name.lowerBound..<value.upperBound : nil
        }
    }

    /// The query with its escapes decoded and its names in lower case.
    private(set) var text: [UInt8] = []
    /// The signed parameters, sorted by name; equal names in the given order.
    private(set) var entries: [Entry] = []
    /// The value of the first `auth_signature`, which is not signed and therefore not an entry.
    private(set) var signature: Range<Int>?
    /// The offsets in `text` of each raw `+`, which a form-encoding client sends for a space.
    private var plusIndices: [Int] = []

    /// Creates an empty query.
    public init() {}

    /// Parses a query string.
    ///
    /// - Parameter query: The text after the `?`, as received. A `%` without two hexadecimal digits is kept as it is.
    public init(parsing query: Span<UInt8>) {
        entries.reserveCapacity(4)
        // The fast path: most signed requests need no decoding.
        let isPlain =
            query.firstIndex(of: UInt8(ascii: "%")) == nil
            && query.firstIndex(of: UInt8(ascii: "+")) == nil
        if isPlain { text = query.copy() } else { text.reserveCapacity(query.count) }
        var isSorted = true
        var start = 0
        while start < query.count {
            let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
            if end > start {
                let equals = query.extracting(start..<end).firstIndex(of: UInt8(ascii: "="))
                let nameEnd = equals.map { start + $0 } ?? end
                let pair =
                    isPlain
                    ? Entry(name: start..<nameEnd, value: min(nameEnd + 1, end)..<end)
                    : decode(query, start..<nameEnd, min(nameEnd + 1, end)..<end)
                lowercase(pair.name)
                if text.span.extracting(pair.name).equals("auth_signature") {
                    signature = signature ?? pair.value
                } else {
                    // Libraries send the parameters sorted, as they sign them.
                    if let last = entries.last { isSorted = isSorted && !precedes(pair, last) }
                    entries.append(pair)
                }
            }
            start = end + 1
        }
        if !isSorted { sort() }
    }

    /// Parses a query string.
    public init(_ query: String) {
        self.init(parsing: Array(query.utf8).span)
    }

    /// The value of the first parameter with this lower-case name; `nil` if there is none.
    ///
    /// The signature is not included.
    public subscript(name: String) -> String? {
        let matches = entries.lazy.filter { isNamed($0, name) }
        return matches.min { $0.value.lowerBound < $1.value.lowerBound }.map(value)
    }

    /// The names in order, without the signature; repeated names are repeated.
    public var names: [String] {
        entries.map { String(decoding: text[$0.name], as: UTF8.self) }
    }

    /// Returns the values of all parameters with this lower-case name, in the given order.
    ///
    /// `channels` also matches `channels[]` and `channels[0]`.
    public func values(of name: String) -> [String] {
        let matches = entries.filter { isNamed($0, name) }
        // By position, not by name: `channels[10]` sorts before `channels[2]`.
        return matches.sorted { $0.value.lowerBound < $1.value.lowerBound }.map(value)
    }

    /// Whether the name of `entry`, without a suffix in brackets, is `name`.
    private func isNamed(_ entry: Entry, _ name: String) -> Bool {
        let given = text.span.extracting(entry.name)
        guard given.starts(with: name) else { return false }
        let length = name.utf8.count
        return given.count == length || given[length] == UInt8(ascii: "[")
    }

    private func value(of entry: Entry) -> String { text.span.extracting(entry.value).string() }

    /// The range of the value of the first parameter named `name`, or `nil`.
    func value(of name: StaticString) -> Range<Int>? {
        for entry in entries where text.span.extracting(entry.name).equals(name) {
            return entry.value
        }
        return nil
    }

    /// Whether the query contains an unescaped `+`.
    var hasPlus: Bool { !plusIndices.isEmpty }

    /// Returns the same parameters with each raw `+` decoded as a space.
    func readingPlusAsSpace() -> QueryParameters {
        var copy = self
        for index in plusIndices { copy.text[index] = UInt8(ascii: " ") }
        copy.sort()
        return copy
    }

    /// Appends a decoded name and value.
    private mutating func decode(
        _ query: Span<UInt8>,
        _ name: Range<Int>,
        _ value: Range<Int>
    ) -> Entry {
        if !text.isEmpty { text.append(UInt8(ascii: "&")) }
        let nameStart = text.count
        decode(query.extracting(name))
        let nameEnd = text.count
        if value.lowerBound > name.upperBound { text.append(UInt8(ascii: "=")) }
        let valueStart = text.count
        decode(query.extracting(value))
        return Entry(name: nameStart..<nameEnd, value: valueStart..<text.count)
    }

    private mutating func decode(_ bytes: Span<UInt8>) {
        var start = 0
        while let index = bytes.firstIndex(of: UInt8(ascii: "+"), from: start) {
            PercentEncoding.appendDecodedLeniently(bytes.extracting(start..<index), to: &text)
            plusIndices.append(text.count)
            text.append(UInt8(ascii: "+"))
            start = index + 1
        }
        PercentEncoding.appendDecodedLeniently(bytes.extracting(start..<bytes.count), to: &text)
    }

    private mutating func lowercase(_ name: Range<Int>) {
        let capital = text.span.extracting(name).firstIndex(from: 0) { $0.capital }
        guard capital < name.count else { return }
        var bytes = text.mutableSpan
        for index in name where bytes[index] &- UInt8(ascii: "A") < 26 { bytes[index] |= 0x20 }
    }

    private mutating func sort() { entries = entries.sorted(by: precedes) }

    /// Whether `left` sorts before `right`: by name, equal names in the given order.
    private func precedes(_ left: Entry, _ right: Entry) -> Bool {
        let bytes = text.span
        for offset in 0..<min(left.name.count, right.name.count) {
            let leftByte = bytes[left.name.lowerBound + offset]
            let rightByte = bytes[right.name.lowerBound + offset]
            if leftByte != rightByte { return leftByte < rightByte }
        }
        if left.name.count != right.name.count { return left.name.count < right.name.count }
        return left.name.lowerBound < right.name.lowerBound
    }
}
