/// One value that follows its source and can be edited without waiting for it: a list of one row.
@MainActor public final class LiveDocument<Value: LiveRow> where Value.ID: Sendable {
    /// The list that the document is the first row of.
    public let list: LiveList<Value>

    /// Makes a document, and begins to listen to its source.
    ///
    /// - Parameters:
    ///   - source: Where the value comes from: its first row is the document.
    ///   - options: Limits, and when to try again.
    public init(_ source: some LiveSource<Value>, options: ListOptions = ListOptions()) {
        list = LiveList(source, options: options)
    }

    /// The value; `nil` while it is not there, and when it has been removed.
    public var value: Value? { list.rows.first }

    /// Where the document stands with its source.
    public var state: ListState { list.state }

    /// Calls back with the value, now and after each change, at once and on the main actor.
    ///
    /// - Parameter perform: Takes the value, and where the document stands.
    /// - Returns: What to keep as long as the callback is wanted.
    public func observe(
        _ perform: @escaping (Value?, ListState) -> Void
    ) -> Observation<ListUpdate<Value>> {
        list.observe { perform($0.rows.first, $0.state) }
    }

    /// Changes the value; it shows at once, and springs back if it is refused.
    ///
    /// - Parameters:
    ///   - ifUnchanged: Whether the edit is refused when somebody else has changed it meanwhile.
    ///   - body: Changes the value, but not its id; not called while there is none.
    /// - Returns: The edit on its way.
    @discardableResult
    public func edit(ifUnchanged: Bool = false, _ body: (inout Value) -> Void) -> PendingEdit {
        let revision = list.revision
        return list.edit { editor in
            guard let value = editor.rows.first else { return }
            if ifUnchanged { editor.ifRevision = revision }
            editor.update(value.id, body)
        }
    }
}
