/// Edits made elsewhere that were taken in together, and the text that they lead to.
public struct TextUpdate: Hashable, Sendable {
    /// The edits, in their order; offsets count in the text after the one before.
    public var splices: [TextSplice]
    /// The text behind them, with all that was edited here.
    public var string: String

    /// Puts edits and text together.
    ///
    /// - Parameters:
    ///   - splices: The edits, in their order.
    ///   - string: The text behind them.
    public init(splices: [TextSplice], string: String) {
        self.splices = splices
        self.string = string
    }
}
