public import FanfareClient

/// One value that follows its source and can be edited optimistically: a list of one row.
@MainActor public final class LiveDocument<Value: LiveRow> where Value.ID: Sendable {
    /// The list whose first row is the document.
    public let list: LiveList<Value>

    /// Creates a document that listens to its source.
    ///
    /// - Parameters:
    ///   - source: The source; its first row is the document.
    ///   - options: The limits and retry delays.
    public init(_ source: some LiveSource<Value>, options: ListOptions = ListOptions()) {
        list = LiveList(source, options: options)
    }

    /// The value; `nil` before it is loaded and after it is removed.
    public var value: Value? { list.rows.first }

    /// The state of the connection to the source.
    public var state: ListState { list.state }

    /// Calls `perform` with the value, immediately and after each change, synchronously on the main actor.
    ///
    /// - Parameter perform: Called with the value and the state.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func observe(_ perform: @escaping (Value?, ListState) -> Void) -> ListenerToken {
        list.observe { perform($0.rows.first, $0.state) }
    }

    /// Changes the value immediately; the edit is reverted if it is refused.
    ///
    /// - Parameters:
    ///   - ifUnchanged: Whether to refuse the edit if another client has changed the value meanwhile.
    ///   - body: Changes the value, but not its ID; not called while there is no value.
    /// - Returns: The pending edit.
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
