/// The replacement of a range of a text, as a text view applies it.
public struct TextSplice: Hashable, Sendable {
    /// The replaced range, in UTF-16 offsets of the text before the splice.
    public var range: Range<Int>
    /// The replacement.
    public var replacement: String

    /// Creates a splice that replaces `range` by `replacement`.
    public init(_ range: Range<Int>, _ replacement: String) {
        self.range = range
        self.replacement = replacement
    }

    /// Returns the splice from one text to another, without their common prefix and suffix.
    ///
    /// - Parameters:
    ///   - old: The text before.
    ///   - new: The text after.
    /// - Returns: The splice; `nil` if both texts have the same scalars.
    public static func from(_ old: String, to new: String) -> TextSplice? {
        let change = ScalarChange(from: Array(old.unicodeScalars), to: Array(new.unicodeScalars))
        guard let change else { return nil }
        let start = TextExtent.of(old.unicodeScalars.prefix(change.range.lowerBound)).utf16
        let length = TextExtent.of(
            old.unicodeScalars.dropFirst(change.range.lowerBound).prefix(change.range.count)
        ).utf16
        return TextSplice(start..<(start + length), change.replacement)
    }

    /// Converts an offset in the text before the splice to one in the text after it.
    ///
    /// - Parameter offset: A UTF-16 offset in the text before; inside the replaced range it moves to the end of the
    ///   replacement.
    /// - Returns: The UTF-16 offset in the text after.
    public func moved(_ offset: Int) -> Int {
        if offset <= range.lowerBound { return offset }
        let end = range.lowerBound + replacement.utf16.count
        return offset < range.upperBound ? end : offset - range.count + replacement.utf16.count
    }
}

/// The difference of two texts without their common prefix and suffix, in scalars.
struct ScalarChange {
    /// The replaced range, in scalars of the text before.
    var range: Range<Int>
    var replacement: String

    /// Compares two texts; `nil` when they are equal.
    init?(from old: [Unicode.Scalar], to new: [Unicode.Scalar]) {
        let shorter = min(old.count, new.count)
        var head = 0
        while head < shorter, old[head] == new[head] { head += 1 }
        guard head < old.count || head < new.count else { return nil }
        var tail = 0
        while tail < shorter - head, old[old.count - 1 - tail] == new[new.count - 1 - tail] {
            tail += 1
        }
        range = head..<(old.count - tail)
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: new[head..<(new.count - tail)])
        replacement = String(scalars)
    }
}
