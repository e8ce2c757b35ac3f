internal import FanfareClient
public import LiveCollections
public import LiveRows
public import Observation

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
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
@MainActor @Observable public final class ListModel<Row: LiveRow> where Row.ID: Sendable {
    /// The rows, with unconfirmed edits applied.
    public private(set) var rows = RowList<Row>()
    /// The state of the list.
    public private(set) var state = ListState.initial
    /// The number of unconfirmed edits.
    public private(set) var pendingEditCount = 0
    /// The last edit that was refused and reverted; set it to `nil` once it has been shown.
    public var refusal: RefusedEdit<Row>?

    /// The list, for its edits.
    @ObservationIgnored public let list: LiveList<Row>
    @ObservationIgnored private var tokens: [ListenerToken] = []

    /// Creates a model that follows the list until the model is released.
    public init(_ list: LiveList<Row>) {
        self.list = list
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
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
@MainActor @Observable public final class DocumentModel<Value: LiveRow> where Value.ID: Sendable {
    /// The value; `nil` before it is loaded and after it is removed.
    public private(set) var value: Value?
    /// The state of the document.
    public private(set) var state = ListState.initial

    /// The document, for its edits.
    @ObservationIgnored public let document: LiveDocument<Value>
    @ObservationIgnored private var token: ListenerToken?

    /// Creates a model that follows the document until the model is released.
    public init(_ document: LiveDocument<Value>) {
        self.document = document
        token = document.observe { [weak self] value, state in
            self?.value = value
            self?.state = state
        }
    }

    deinit { token?.cancel() }
}
