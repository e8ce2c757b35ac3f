/// A position in a text that moves with the text around it.
public struct TextAnchor: Hashable, Sendable {
    /// The neighbour to which a position is attached when text is inserted at it.
    public enum Bias: Sendable {
        /// The scalar to the left: text inserted at the position is placed after it.
        case left
        /// The scalar to the right: text inserted at the position is placed before it.
        case right
    }

    enum Position: Hashable, Sendable {
        case start
        case end
        case before(ScalarID)
        case after(ScalarID)
    }

    /// The start of the text, also when text is inserted there.
    public static let start = TextAnchor(position: .start)
    /// The end of the text, also when text is inserted there.
    public static let end = TextAnchor(position: .end)

    let position: Position

    /// Returns the position before a scalar; text inserted at the position moves it to the right.
    static func before(_ scalar: ScalarID) -> TextAnchor {
        TextAnchor(position: .before(scalar))
    }

    /// Returns the position after a scalar; text inserted at the position does not move it.
    static func after(_ scalar: ScalarID) -> TextAnchor {
        TextAnchor(position: .after(scalar))
    }
}

/// A user's caret or selection, to be shown to other users.
public struct TextCursor: Hashable, Sendable, Codable {
    /// The fixed end of the selection.
    public var anchor: TextAnchor
    /// The caret.
    public var focus: TextAnchor

    /// Creates a caret or a selection.
    ///
    /// - Parameters:
    ///   - anchor: The fixed end of the selection; equal to `focus` without a selection.
    ///   - focus: The caret.
    public init(anchor: TextAnchor, focus: TextAnchor) {
        self.anchor = anchor
        self.focus = focus
    }
}
