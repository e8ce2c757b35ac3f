public import FanfareClient
public import LiveRows

internal import Foundation

/// A list whose rows follow their source and can be edited optimistically.
///
/// The rows are the source's, with unconfirmed edits applied on top. Each update contains all rows and the changes that
/// lead to them, as a batch for a table view. A refused edit is reverted and reported.
/// lead to them, in the form of a table view's batch. A refused edit is reverted and reported.
///
/// Releasing the list ends its connection to the source.
@MainActor public final class LiveList<Row: LiveRow> where Row.ID: Sendable {
    /// The rows of the last update.
    public private(set) var rows = RowList<Row>()
    /// The state of the last update.
    public private(set) var state = ListState.initial

    let source: any LiveSource<Row>
    let options: ListOptions
    var replica: ListReplica<Row>
    private(set) var updateNumber = 0
    let signals = UpdateSignals()
    private let observers = Observers<ListUpdate<Row>>()
    private let pendingEditCounts = Observers<Int>()
    private var sentPendingEditCount = 0
    let refusals = Observers<RefusedEdit<Row>>()
    let retries = Observers<RetriedEdit<Row>>()
    let errors = Observers<any Error>()
    private var isDelivering = false
    /// The unconfirmed edits, by mutation.
    var pendingEdits: [String: PendingEdit] = [:]
    let tasks = TaskBag()

    /// Creates a list that listens to its source.
    ///
    /// - Parameters:
    ///   - source: The source of the rows and target of the edits.
    ///   - options: The limits and retry delays.
    public init(_ source: some LiveSource<Row>, options: ListOptions = ListOptions()) {
        self.source = source
        self.options = options
        replica = ListReplica(options: options)
        if let snapshot = source.initial() { perform(replica.arrived(snapshot)) }
        replica.began()
        deliver()
        listen()
        checkRegularly()
    }

    deinit {
        let waited = pendingEdits
        Task { @MainActor in
            for edit in waited.values { edit.end(.failure(LiveListError.ended)) }
        }
    }

    /// The number of unconfirmed edits.
    public var pendingEditCount: Int { replica.pendingCount }

    /// The edit that is sent again after a failure; `nil` if the current edit has not failed.
    public var retriedEdit: RetriedEdit<Row>? { replica.retriedEdit }

    /// The rows of the last snapshot that could not be decoded; they are not in ``rows``.
    public var omittedRows: [OmittedRow] { replica.omittedRows }

    /// The revision of the source's rows; `nil` before they are loaded.
    public var revision: UInt64? { replica.revision }

    /// Returns the row with an ID, or `nil`.
    public func row(_ id: Row.ID) -> Row? { replica.tracked.keyed[id] }

    /// Returns the index of the row with an ID, or `nil`.
    public func index(of id: Row.ID) -> Int? { replica.tracked.keyed.index(of: id) }

    // MARK: Edits

    /// Edits the list: all operations show immediately, as one batch, and are sent as one commit.
    ///
    /// ```
    /// list.edit { $0.move(dragged.id, after: target.id) }
    /// ```
    ///
    /// The closure works on a copy of the rows; the list applies its operations when the closure has returned. So the
    /// closure can read the list. An edit of the list inside the closure is applied first.
    ///
    /// - Parameter body: Edits the rows.
    /// - Returns: The pending edit; ``PendingEdit/confirmed()`` waits for its result.
    @discardableResult
    public func edit(_ body: (inout ListEditor<Row>) -> Void) -> PendingEdit {
        let mutation = UUID().uuidString.lowercased()
        let (operations, ifRevision) = operations(of: body)
        let before = replica.pendingCount
        let effects = replica.commit(operations, ifRevision: ifRevision, mutation: mutation)
        let isRefused = effects.contains { if case .refused = $0 { true } else { false } }
        let isPending = replica.pendingCount > before || isRefused
        let edit = PendingEdit(mutation: isPending ? mutation : nil)
        if isPending { pendingEdits[mutation] = edit }
        deliver()
        perform(effects)
        return edit
    }

    /// Runs an edit's closure on a copy of the rows, and releases the copy before the list's own rows change.
    ///
    /// While both exist, a change of one copies their shared storage.
    ///
    /// - Parameter body: Edits the copy.
    /// - Returns: The operations, and the revision that they require.
    private func operations(
        of body: (inout ListEditor<Row>) -> Void
    ) -> (operations: [ListOperation<Row>], ifRevision: UInt64?) {
        var editor = replica.editor()
        body(&editor)
        return (editor.operations, editor.ifRevision)
    }

    // MARK: Updates

    /// Calls `perform` with each update, synchronously on the main actor, as table views require.
    ///
    /// The first call happens before this method returns, with all rows as insertions.
    ///
    /// - Parameter perform: Called with the update. It may edit the list, which causes another update afterwards.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func observe(_ perform: @escaping (ListUpdate<Row>) -> Void) -> ListenerToken {
        let token = observers.add(perform)
        perform(update(from: RowList()))
        return token
    }

    /// Calls `perform` with ``pendingEditCount`` when it has changed, after the update of the rows if there is one.
    ///
    /// A confirmation often changes no row, and then causes no update.
    package func observePendingEditCount(_ perform: @escaping (Int) -> Void) -> ListenerToken {
        pendingEditCounts.add(perform)
    }

    /// Calls `perform` with each edit that was refused and reverted.
    ///
    /// - Parameter perform: Called with the edit and the reason.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func observeRefusals(
        _ perform: @escaping (RefusedEdit<Row>) -> Void
    ) -> ListenerToken {
        refusals.add(perform)
    }

    /// Calls `perform` with each failed attempt to send an edit; the edit stays applied and is sent again.
    ///
    /// Later edits wait for it. After ``ListOptions/commitAttemptsMax`` attempts it is refused.
    ///
    /// - Parameter perform: Called with the edit, the failure and the number of attempts.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func observeRetries(
        _ perform: @escaping (RetriedEdit<Row>) -> Void
    ) -> ListenerToken {
        retries.add(perform)
    }

    /// Calls `perform` with each error after which the list continues.
    ///
    /// These are failures of the source or of a fetch, and events or rows that cannot be decoded.
    ///
    ///
    /// The ``state`` shows the last error while it lasts.
    ///
    /// - Parameter perform: Called with the error.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func observeErrors(_ perform: @escaping (any Error) -> Void) -> ListenerToken {
        errors.add(perform)
    }

    /// The updates as a sequence: all rows first, then the changes.
    ///
    /// A slow reader receives fewer and larger updates; each is relative to the one that it has read before.
    public var updates: ListUpdates<Row> { ListUpdates(self) }

    /// Waits until the rows are loaded and follow every change; a failed source is retried.
    public func waitUntilLive() async {
        for await update in updates where update.state.isLive { return }
    }

    /// Returns an update from other rows to the current ones.
    func update(from old: RowList<Row>) -> ListUpdate<Row> {
        ListUpdate(
            rows: rows,
            changes: changes(from: old, to: rows),
            state: state,
            number: updateNumber
        )
    }

    // MARK: Delivery

    /// Sends an update and the number of unconfirmed edits, if they have changed since the last ones.
    func deliver() {
        // An observer's edit is delivered to all observers in the next iteration.
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while true {
            if let update = nextUpdate() {
                observers.send(update)
                signals.send()
            } else if pendingEditCount != sentPendingEditCount {
                sentPendingEditCount = pendingEditCount
                pendingEditCounts.send(pendingEditCount)
            } else {
                return
            }
        }
    }

    private func nextUpdate() -> ListUpdate<Row>? {
        let changes = replica.takeChanges()
        guard !changes.isEmpty || !state.isSame(as: replica.state) else { return nil }
        rows = replica.rows
        state = replica.state
        updateNumber += 1
        return ListUpdate(rows: rows, changes: changes, state: state, number: updateNumber)
    }
}
