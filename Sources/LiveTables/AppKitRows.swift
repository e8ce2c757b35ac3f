#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    public import AppKit
    public import LiveCollections
    internal import LiveRows

    extension RowBinding {
        /// Shows a list as the rows of a table view.
        ///
        /// - Parameters:
        ///   - list: The list; retained.
        ///   - tableView: The view; held weakly. Set its data source, which returns ``rows``, after this call.
        public convenience init(_ list: LiveList<Row>, to tableView: NSTableView) {
            self.init(list, view: { [weak tableView] in tableView.map(TableRows.init) })
        }
    }

    /// The rows of a table view.
    @MainActor private final class TableRows: RowView {
        private let tableView: NSTableView

        init(_ tableView: NSTableView) { self.tableView = tableView }

        var isInWindow: Bool { tableView.window != nil }

        func reloadRows() { tableView.reloadData() }

        // `NSTableView` performs the calls of a batch one after the other, with the indices after the previous call. A
        // moved row is therefore deleted and inserted.
        func performBatch(_ changes: RowChanges, takeRows: @escaping () -> Void) {
            takeRows()
            tableView.beginUpdates()
            tableView.removeRows(
                at: IndexSet(changes.deletes + changes.moves.map(\.from)),
                withAnimation: .effectFade
            )
            tableView.insertRows(
                at: IndexSet(changes.inserts + changes.moves.map(\.to)),
                withAnimation: .effectGap
            )
            tableView.endUpdates()
        }

        func updateRows(_ indices: [Int]) {
            tableView.reloadData(
                forRowIndexes: IndexSet(indices),
                columnIndexes: IndexSet(integersIn: 0..<tableView.numberOfColumns)
            )
        }
    }
#endif
