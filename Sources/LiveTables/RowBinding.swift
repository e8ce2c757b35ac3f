public import LiveCollections
public import LiveRows

/// Shows a live list in a view, as batches, as long as it is held.
///
/// The binding is the view's data: ``rows`` are what the view shows, always, and change within the
/// batch that shows it. A view that was paused is not led through what it missed: what it shows is
/// compared with what there is.
@MainActor public final class RowBinding<Row: LiveRow> where Row.ID: Sendable {
    /// More changes than these are not worth an animation: the view is reloaded.
    public static var batchMax: Int { 1000 }

    /// What the view shows; its data source reports these.
    public private(set) var rows = RowList<Row>()
    /// The list.
    public let list: LiveList<Row>
    /// Whether the view is left alone, while a row is dragged or the view is not on screen.
    public private(set) var isPaused = false

    private weak var view: (any RowView)?
    private var shownNumber: Int?
    private var observation: Observation<ListUpdate<Row>>?

    /// Begins to show a list.
    ///
    /// - Parameters:
    ///   - list: The list; the binding keeps it.
    ///   - view: The view; the binding does not keep it.
    public init(_ list: LiveList<Row>, to view: any RowView) {
        self.list = list
        self.view = view
        observation = list.observe { [weak self] in self?.show($0) }
    }

    /// Leaves the view alone until ``resume()``.
    public func pause() { isPaused = true }

    /// Shows what has changed since ``pause()``, as one batch.
    public func resume() {
        guard isPaused else { return }
        isPaused = false
        show(list.rows, changes: changes(to: list.rows))
    }

    private func show(_ update: ListUpdate<Row>) {
        guard !isPaused else {
            // What was missed has to be compared.
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
        guard let view, let changes, changes.operationCount <= Self.batchMax, !rows.isEmpty else {
            // Nothing was shown, or too much changes.
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
