#if canImport(UIKit) && !os(watchOS)
    public import LiveCollections
    public import LiveRows
    public import UIKit

    extension RowBinding {
        /// Shows a list in the first section of a table view.
        ///
        /// - Parameters:
        ///   - list: The list; retained.
        ///   - tableView: The view; held weakly. Set its data source, which returns ``rows``, after this call.
        public convenience init(_ list: LiveList<Row>, to tableView: UITableView) {
            self.init(list, view: { [weak tableView] in tableView.map(TableRows.init) })
        }
    }

    extension SectionBinding {
        /// Shows a list in the sections of a table view.
        ///
        /// - Parameters:
        ///   - list: The list; retained.
        ///   - tableView: The view; held weakly. Set its data source, which returns ``sections``, after this call.
        ///   - build: Groups rows into sections, as `sections(of:by:)` does.
        public convenience init(
            _ list: LiveList<Row>,
            to tableView: UITableView,
            build: @escaping (RowList<Row>) -> [RowSection<ID, Row>]
        ) {
            let view = { [weak tableView] in tableView.map(TableRows.init) }
            self.init(list, view: view, build: build)
        }
    }

    /// The sections and rows of a table view.
    @MainActor private final class TableRows: RowView, SectionView {
        private let tableView: UITableView

        init(_ tableView: UITableView) { self.tableView = tableView }

        var isInWindow: Bool { tableView.window != nil }

        func reloadRows() { tableView.reloadData() }

        func reloadSections() { tableView.reloadData() }

        func performBatch(_ changes: RowChanges, takeRows: @escaping () -> Void) {
            performBatch(SectionChanges(inFirstSection: changes), takeSections: takeRows)
        }

        func performBatch(_ changes: SectionChanges, takeSections: @escaping () -> Void) {
            tableView.performBatchUpdates { [tableView] in
                takeSections()
                let (sections, rows) = (changes.sections, changes)
                tableView.deleteSections(IndexSet(sections.deletes), with: .automatic)
                tableView.insertSections(IndexSet(sections.inserts), with: .automatic)
                for move in sections.moves { tableView.moveSection(move.from, toSection: move.to) }
                tableView.deleteRows(at: rows.deletes.map(\.indexPath), with: .automatic)
                tableView.insertRows(at: rows.inserts.map(\.indexPath), with: .automatic)
                for move in rows.moves {
                    tableView.moveRow(at: move.from.indexPath, to: move.to.indexPath)
                }
            }
        }

        func updateRows(_ indices: [Int]) {
            tableView.reconfigureRows(at: indices.map { IndexPath(row: $0, section: 0) })
        }

        func updateRows(_ paths: [RowPath]) {
            tableView.reconfigureRows(at: paths.map(\.indexPath))
        }
    }
#endif
