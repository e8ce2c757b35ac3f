import Primitives

/// The parameters of a query string, names in lower case, values decoded, sorted by name.
///
/// That is the form in which the HTTP API signs them. All text lies in one buffer: a query of any length costs two
/// allocations.
public struct QueryParameters: Sendable {
    struct Entry {
        var name: Range<Int>
        var value: Range<Int>

        /// Where `name=value` stands in one piece; `nil` for a name without `=`.
        var pair: Range<Int>? {
            value.lowerBound == name.upperBound + 1 ? name.lowerBound..<value.upperBound : nil
        }
    }

    /// The query with its escapes resolved and its names in lower case.
    private(set) var text: [UInt8] = []
    /// What is signed, sorted by name; those of one name in the order given.
    private(set) var entries: [Entry] = []
    /// The value of `auth_signature`, the first if there are several: what is not signed is no entry.
    private(set) var signature: Range<Int>?
    /// Where in `text` a raw `+` stands, which a form-encoding client means as a space.
    private var plusIndices: [Int] = []

    /// No parameters.
    public init() {}

    /// Takes a query string apart.
    ///
    /// - Parameter query: What follows the `?`, as received. A `%` without two digits behind it stands for itself.
    public init(parsing query: Span<UInt8>) {
        entries.reserveCapacity(4)
        // Signed requests seldom hold anything that has to be decoded.
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
                    // Libraries send what they sign in order.
                    if let last = entries.last { isSorted = isSorted && !precedes(pair, last) }
                    entries.append(pair)
                }
            }
            start = end + 1
        }
        if !isSorted { sort() }
    }

    /// Takes a query string apart.
    public init(_ query: String) {
        self.init(parsing: Array(query.utf8).span)
    }

    /// The value of the first parameter called `name`, in lower case, or `nil` when there is none.
    ///
    /// The signature is not found in this way.
    public subscript(name: String) -> String? {
        let matches = entries.lazy.filter { isCalled($0, name) }
        return matches.min { $0.value.lowerBound < $1.value.lowerBound }.map(value)
    }

    /// The names, in order and without that of the signature; those that were given several times come several times.
    public var names: [String] {
        entries.map { String(decoding: text[$0.name], as: UTF8.self) }
    }

    /// Finds all parameters called `name`.
    ///
    /// - Parameter name: In lower case. `channels` also stands for `channels[]` and `channels[0]`.
    /// - Returns: Their values, in the order given.
    public func values(of name: String) -> [String] {
        let matches = entries.filter { isCalled($0, name) }
        // The order given: `channels[10]` sorts before `channels[2]`.
        return matches.sorted { $0.value.lowerBound < $1.value.lowerBound }.map(value)
    }

    /// Whether the name of `entry`, or what it has in front of a bracket, is `name`.
    private func isCalled(_ entry: Entry, _ name: String) -> Bool {
        let given = text.span.extracting(entry.name)
        guard given.starts(with: name) else { return false }
        let length = name.utf8.count
        return given.count == length || given[length] == UInt8(ascii: "[")
    }

    private func value(of entry: Entry) -> String { text.span.extracting(entry.value).string() }

    /// The value of the first parameter called `name`, or `nil`.
    func value(of name: StaticString) -> Range<Int>? {
        for entry in entries where text.span.extracting(entry.name).equals(name) {
            return entry.value
        }
        return nil
    }

    /// Whether the query held a `+` that was not escaped.
    var hasPlus: Bool { !plusIndices.isEmpty }

    /// Returns the same parameters, each raw `+` read as a space.
    func readingPlusAsSpace() -> QueryParameters {
        var copy = self
        for index in plusIndices { copy.text[index] = UInt8(ascii: " ") }
        copy.sort()
        return copy
    }

    /// Appends a name and a value with their escapes resolved.
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

    /// Whether `left` sorts before `right`: by name, and in the order given where the names are equal.
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
