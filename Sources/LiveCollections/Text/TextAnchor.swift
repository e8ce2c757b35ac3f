/// A position in a text that moves with the text around it.
public enum TextAnchor: Hashable, Sendable {
    /// The start of the text, also when text is inserted there.
    case start
    /// The end of the text, also when text is inserted there.
    case end
    /// Before a scalar: text inserted at the position moves it to the right.
    case before(ScalarID)
    /// After a scalar: text inserted at the position does not move it.
    case after(ScalarID)

    /// The neighbour to which a position is attached when text is inserted at it.
    public enum Bias: Sendable {
        /// The scalar to the left: inserted text goes after the position.
        case left
        /// The scalar to the right: inserted text goes before the position.
        case right
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
