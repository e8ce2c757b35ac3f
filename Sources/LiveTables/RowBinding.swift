internal import FanfareClient
public import LiveCollections
public import LiveRows

/// Shows a live list in a view, in batches, until the binding is released.
///
/// The binding is the source of the view's rows: ``rows`` are always the rows that the view shows, and change within
/// the batch that shows the change. After a pause the binding compares the shown rows with the list's. It reloads the
/// view for more than 1,000 changes, and for changes while the view is in no window.
@MainActor public final class RowBinding<Row: LiveRow> where Row.ID: Sendable {
    /// The rows that the view shows; its data source returns these.
    public private(set) var rows = RowList<Row>()
    /// The list.
    public let list: LiveList<Row>
    /// Whether updates are paused, for example while a row is dragged or the view is off screen.
    public private(set) var isPaused = false

    private let view: () -> (any RowView)?
    private var shownNumber: Int?
    private var token: ListenerToken?

    /// Binds a list to a view.
    ///
    /// - Parameters:
    ///   - list: The list; retained.
    ///   - view: The view; held weakly.
    public convenience init(_ list: LiveList<Row>, to view: any RowView) {
        self.init(list, view: { [weak view] in view })
    }

    /// Binds a list to the view that a closure returns while the view exists.
    init(_ list: LiveList<Row>, view: @escaping () -> (any RowView)?) {
        self.list = list
        self.view = view
        token = list.observe { [weak self] in self?.show($0) }
    }

    deinit { token?.cancel() }

    /// Pauses updates of the view until ``resume()``.
    public func pause() { isPaused = true }

    /// Shows the changes since ``pause()``, as one batch.
    public func resume() {
        guard isPaused else { return }
        isPaused = false
        show(list.rows, changes: changes(to: list.rows))
    }

    private func show(_ update: ListUpdate<Row>) {
        guard !isPaused else {
            // The next update is compared with the shown rows.
            shownNumber = nil
            return
        }
        let follows = shownNumber.map { $0 + 1 == update.number } ?? false
        show(update.rows, changes: follows ? update.changes : changes(to: update.rows))
        shownNumber = update.number
    }

    private func changes(to new: RowList<Row>) -> RowChanges? {
        try? rowChanges(from: rows, to: new)
    }

    private func show(_ new: RowList<Row>, changes: RowChanges?) {
        let view = view()
        guard let view, view.isInWindow, let changes, !rows.isEmpty,
            changes.operationCount <= animatedChangesMax
        else {
            let isSame = rows.isEmpty && new.isEmpty
            rows = new
            if !isSame { view?.reloadRows() }
            return
        }
        if changes.hasBatch {
            view.performBatch(changes) { [self] in rows = new }
        } else {
            rows = new
        }
        if !changes.updates.isEmpty { view.updateRows(changes.updates) }
    }
}
