internal import FanfareClient
public import LiveCollections
public import LiveRows

/// A live list, for views.
///
/// ```swift
/// ForEach(people.rows) { person in Text(person.name) }
///     .onMove { rows, target in
///         people.list.edit { $0.move(fromOffsets: rows, toOffset: target) }
///     }
/// ```
///
/// After a disconnect the rows and the edits stay, and ``state`` is `ListState.offline`.
@MainActor public final class ListModel<Row: LiveRow>: ObservedModel where Row.ID: Sendable {
    /// The rows, with unconfirmed edits applied.
    @Observed public private(set) var rows = RowList<Row>()
    /// The state of the list.
    @Observed public private(set) var state = ListState.initial
    /// The number of unconfirmed edits.
    @Observed public private(set) var pendingEditCount = 0
    /// The last edit that was refused and reverted; set it to `nil` once it has been shown.
    @Observed public var refusal: RefusedEdit<Row>?

    /// The list, for its edits.
    public let list: LiveList<Row>
    private var tokens: [ListenerToken] = []

    /// Creates a model that follows the list until the model is released.
    public init(_ list: LiveList<Row>) {
        self.list = list
        super.init()
        pendingEditCount = list.pendingEditCount
        tokens = [
            list.observe { [weak self] update in self?.show(update) },
            list.observePendingEditCount { [weak self] count in self?.pendingEditCount = count },
            list.observeRefusals { [weak self] refusal in self?.refusal = refusal },
        ]
    }

    /// Creates a list and a model that follows it.
    ///
    /// - Parameters:
    ///   - source: The source of the rows and target of the edits.
    ///   - options: The limits and retry delays.
    public convenience init(
        _ source: some LiveSource<Row>,
        options: ListOptions = ListOptions()
    ) { self.init(LiveList(source, options: options)) }

    deinit { for token in tokens { token.cancel() } }

    private func show(_ update: ListUpdate<Row>) {
        if !update.changes.isEmpty || rows.isEmpty { rows = update.rows }
        state = update.state
    }
}

/// One live value, for views: a list of one row.
@MainActor public final class DocumentModel<Value: LiveRow>: ObservedModel
where Value.ID: Sendable {
    /// The value; `nil` before it is loaded and after it is removed.
    @Observed public private(set) var value: Value?
    /// The state of the document.
    @Observed public private(set) var state = ListState.initial

    /// The document, for its edits.
    public let document: LiveDocument<Value>
    private var token: ListenerToken?

    /// Creates a model that follows the document until the model is released.
    public init(_ document: LiveDocument<Value>) {
        self.document = document
        super.init()
        token = document.observe { [weak self] value, state in
            self?.value = value
            self?.state = state
        }
    }

    deinit { token?.cancel() }
}
