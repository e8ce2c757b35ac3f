/// A place in a text that moves along with the text around it: what a cursor is made of.
public enum TextAnchor: Hashable, Sendable {
    /// The very front, whatever is typed there.
    case start
    /// The very end, whatever is typed there.
    case end
    /// Left of a scalar: what is typed in between pushes the place to the right.
    case before(ScalarID)
    /// Right of a scalar: what is typed there leaves the place where it is.
    case after(ScalarID)

    /// Which neighbour a place keeps to when something is typed at it.
    public enum Bias: Sendable {
        /// It stays behind what is on its left, before what is typed at it.
        case left
        /// It stays before what is on its right, behind what is typed at it.
        case right
    }
}

/// A part of a text that is replaced: how a text view is told of an edit.
public struct TextSplice: Hashable, Sendable {
    /// What is replaced, in UTF-16 offsets of the text as it is before this splice.
    public var range: Range<Int>
    /// What takes its place.
    public var replacement: String

    /// Replaces `range` by `replacement`.
    public init(_ range: Range<Int>, _ replacement: String) {
        self.range = range
        self.replacement = replacement
    }

    /// The one splice that leads from a text to another: all but what both begin and end with.
    ///
    /// - Parameters:
    ///   - old: The text before.
    ///   - new: The text after.
    /// - Returns: The splice, or `nil` when both are the same scalars.
    public static func from(_ old: String, to new: String) -> TextSplice? {
        let change = ScalarChange(from: Array(old.unicodeScalars), to: Array(new.unicodeScalars))
        guard let change else { return nil }
        let start = TextExtent.of(old.unicodeScalars.prefix(change.range.lowerBound)).utf16
        let length = TextExtent.of(
            old.unicodeScalars.dropFirst(change.range.lowerBound).prefix(change.range.count)
        ).utf16
        return TextSplice(start..<(start + length), change.replacement)
    }

    /// Where a place of the text before is in the text after.
    ///
    /// - Parameter offset: A UTF-16 offset of the text before; inside of what is replaced it moves to its end.
    /// - Returns: The offset in the text after.
    public func moved(_ offset: Int) -> Int {
        if offset <= range.lowerBound { return offset }
        let end = range.lowerBound + replacement.utf16.count
        return offset < range.upperBound ? end : offset - range.count + replacement.utf16.count
    }
}

/// What differs between two texts, by what both begin and end with, in scalars.
struct ScalarChange {
    /// What is replaced, in scalars of the text before.
    var range: Range<Int>
    var replacement: String

    /// Compares; `nil` when both are the same.
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
