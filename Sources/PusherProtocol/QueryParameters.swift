/// The parameters of a query string, names in lower case, values decoded, sorted by name.
///
/// That is the form in which the HTTP API signs them. All text lies in one buffer: a query of any length costs two
/// allocations.
public struct QueryParameters: Sendable {
    struct Entry {
        var name: Range<Int>
        var value: Range<Int>
    }

    /// Names and values with their escapes resolved.
    private(set) var text: [UInt8] = []
    /// Sorted by name; those of one name in the order given.
    private(set) var entries: [Entry] = []
    /// Where in `text` a raw `+` stands, which a form-encoding client means as a space.
    private var plusIndices: [Int] = []

    /// No parameters.
    public init() {}

    /// Takes a query string apart.
    ///
    /// - Parameter query: What follows the `?`, as received. A `%` without two digits behind it stands for itself.
    public init(parsing query: Span<UInt8>) {
        text.reserveCapacity(query.count)
        entries.reserveCapacity(8)
        // Signed requests seldom hold anything that has to be decoded.
        let isPlain =
            query.firstIndex(of: UInt8(ascii: "%")) == nil
            && query.firstIndex(of: UInt8(ascii: "+")) == nil
        var start = 0
        while start < query.count {
            let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
            if end > start { append(query.extracting(start..<end), isPlain: isPlain) }
            start = end + 1
        }
        sort()
    }

    /// Takes a query string apart.
    public init(_ query: String) {
        self.init(parsing: Array(query.utf8).span)
    }

    /// The value of the first parameter called `name`, in lower case, or `nil` when there is none.
    public subscript(name: String) -> String? {
        let matches = entries.lazy.filter { isCalled($0, name) }
        return matches.min { $0.value.lowerBound < $1.value.lowerBound }.map(value)
    }

    /// The names, in order; those that were given several times come several times.
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

    private mutating func append(_ pair: Span<UInt8>, isPlain: Bool) {
        let equals = pair.firstIndex(of: UInt8(ascii: "="))
        let nameStart = text.count
        decode(pair.extracting(0..<(equals ?? pair.count)), isPlain: isPlain)
        for index in nameStart..<text.count where text[index] &- UInt8(ascii: "A") < 26 {
            text[index] |= 0x20
        }
        let valueStart = text.count
        if let equals { decode(pair.extracting(equals + 1..<pair.count), isPlain: isPlain) }
        entries.append(Entry(name: nameStart..<valueStart, value: valueStart..<text.count))
    }

    private mutating func decode(_ bytes: Span<UInt8>, isPlain: Bool) {
        guard !isPlain else { return text.append(bytes) }
        var start = 0
        while let index = bytes.firstIndex(of: UInt8(ascii: "+"), from: start) {
            PercentEncoding.appendDecoded(bytes.extracting(start..<index), to: &text)
            plusIndices.append(text.count)
            text.append(UInt8(ascii: "+"))
            start = index + 1
        }
        PercentEncoding.appendDecoded(bytes.extracting(start..<bytes.count), to: &text)
    }

    private mutating func sort() {
        // Libraries send their parameters in order, all but the signature at the end.
        let text = text
        entries.sort { left, right in
            QueryParameters.precedes(text.span, left, right)
        }
    }

    /// Whether `left` sorts before `right`: by name, and in the order given where the names are equal.
    private static func precedes(_ text: Span<UInt8>, _ left: Entry, _ right: Entry) -> Bool {
        for offset in 0..<min(left.name.count, right.name.count) {
            let leftByte = text[left.name.lowerBound + offset]
            let rightByte = text[right.name.lowerBound + offset]
            if leftByte != rightByte { return leftByte < rightByte }
        }
        if left.name.count != right.name.count { return left.name.count < right.name.count }
        return left.name.lowerBound < right.name.lowerBound
    }
}
