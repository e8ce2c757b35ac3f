internal import FanfareClient
public import LiveCollections

/// A shared text, for views.
///
/// After a disconnect the text stays and can be edited; ``status`` is then offline.
@MainActor public final class TextModel: ObservedModel {
    /// The text, including all local edits.
    @Observed public private(set) var string: String
    /// The state of the connection to the backend.
    @Observed public private(set) var status: LiveText.Status

    /// The shared text.
    public let text: LiveText
    private var tokens: [ListenerToken] = []

    /// Creates a model that follows the text until the model is released.
    ///
    /// - Parameter text: The text; the app calls its `start()`.
    public init(_ text: LiveText) {
        self.text = text
        string = text.string
        status = text.status
        super.init()
        tokens = [
            text.observe { [weak self] _ in self?.refresh() },
            text.observeStatus { [weak self] status in
                self?.status = status
                self?.refresh()
            },
        ]
    }

    deinit { for token in tokens { token.cancel() } }

    /// Edits the text.
    ///
    /// - Parameters:
    ///   - range: The range to replace, in UTF-16 offsets.
    ///   - replacement: The replacement; may be empty.
    /// - Throws: A `TextError` about the range or the length; the text is then unchanged.
    public func replace(_ range: Range<Int>, with replacement: String) throws(TextError) {
        try text.replace(range, with: replacement)
        refresh()
    }

    /// Changes the text to what an editor shows, with the smallest edit.
    ///
    /// Use it for a SwiftUI `TextEditor`, which only has its whole text.
    ///
    /// - Parameter edited: The editor's text.
    /// - Throws: A `TextError` when it is too long; the text is then unchanged.
    public func replaceAll(with edited: String) throws(TextError) {
        let old = Array(string.utf16)
        let new = Array(edited.utf16)
        var start = zip(old, new).prefix { $0 == $1 }.count
        // A range must not begin or end between the two halves of a surrogate pair.
        if start > 0, UTF16.isLeadSurrogate(old[start - 1]) { start -= 1 }
        var end = zip(old[start...].reversed(), new[start...].reversed()).prefix { $0 == $1 }.count
        if end > 0, UTF16.isTrailSurrogate(old[old.count - end]) { end -= 1 }
        guard start < old.count - end || start < new.count - end else { return }
        let replacement = String(decoding: new[start..<new.count - end], as: UTF16.self)
        try replace(start..<old.count - end, with: replacement)
    }

    private func refresh() { if string != text.string { string = text.string } }
}
