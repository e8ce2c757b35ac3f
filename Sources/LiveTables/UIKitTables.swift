#if canImport(UIKit) && !os(watchOS)
    public import LiveCollections
    public import LiveRows
    public import UIKit

    /// Shows a list in the first section of a table view.
    extension UITableView: RowView {
        /// Reloads all data.
        public func reloadRows() { reloadData() }

        /// Performs the batch in section 0.
        public func performBatch(_ changes: RowChanges, takeRows: @escaping () -> Void) {
            performBatchUpdates { [self] in
                takeRows()
                deleteRows(at: paths(changes.deletes), with: .automatic)
                insertRows(at: paths(changes.inserts), with: .automatic)
                for move in changes.moves {
                    moveRow(at: [0, move.from], to: [0, move.to])
                }
            }
        }

        /// Reconfigures the cells of rows, in place.
        public func updateRows(_ indices: [Int]) { reconfigureRows(at: paths(indices)) }

        private func paths(_ indices: [Int]) -> [IndexPath] {
            indices.map { IndexPath(row: $0, section: 0) }
        }
    }

    /// Shows sections in a table view.
    extension UITableView: SectionView {
        /// Reloads all data.
        public func reloadSections() { reloadData() }

        /// Performs the batch.
        public func performBatch(_ changes: SectionChanges, takeSections: @escaping () -> Void) {
            performBatchUpdates { [self] in
                takeSections()
                deleteSections(IndexSet(changes.sections.deletes), with: .automatic)
                insertSections(IndexSet(changes.sections.inserts), with: .automatic)
                for move in changes.sections.moves { moveSection(move.from, toSection: move.to) }
                deleteRows(at: changes.deletes.map(\.indexPath), with: .automatic)
                insertRows(at: changes.inserts.map(\.indexPath), with: .automatic)
                for move in changes.moves {
                    moveRow(at: move.from.indexPath, to: move.to.indexPath)
                }
            }
        }

        /// Reconfigures the cells of rows, in place.
        public func updateRows(_ paths: [RowPath]) { reconfigureRows(at: paths.map(\.indexPath)) }
    }

    /// Shows a list in the first section of a collection view.
    extension UICollectionView: RowView {
        /// Reloads all data.
        public func reloadRows() { reloadData() }

        /// Performs the batch in section 0.
        public func performBatch(_ changes: RowChanges, takeRows: @escaping () -> Void) {
            performBatchUpdates { [self] in
                takeRows()
                deleteItems(at: paths(changes.deletes))
                insertItems(at: paths(changes.inserts))
                for move in changes.moves {
                    moveItem(at: [0, move.from], to: [0, move.to])
                }
            }
        }

        /// Reconfigures the cells of items, in place.
        public func updateRows(_ indices: [Int]) { reconfigureItems(at: paths(indices)) }

        private func paths(_ indices: [Int]) -> [IndexPath] {
            indices.map { IndexPath(item: $0, section: 0) }
        }
    }

    extension RowPath {
        fileprivate var indexPath: IndexPath { IndexPath(row: row, section: section) }
    }

    /// The data source of a table view that is bound to a list; keep it as long as the view shows the list.
    @MainActor public final class ListDataSource<Row: LiveRow>: NSObject, UITableViewDataSource
    where Row.ID: Sendable {
        private let cell: (UITableView, IndexPath, Row) -> UITableViewCell
        /// The binding of the list to the view.
        public private(set) var binding: RowBinding<Row>?

        init(
            _ list: LiveList<Row>,
            _ tableView: UITableView,
            _ cell: @escaping (UITableView, IndexPath, Row) -> UITableViewCell
        ) {
            self.cell = cell
            super.init()
            tableView.dataSource = self
            binding = RowBinding(list, to: tableView)
        }

        /// The number of shown rows.
        public func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int {
            binding?.rows.count ?? 0
        }

        /// The cell of a row.
        public func tableView(
            _ tableView: UITableView,
            cellForRowAt path: IndexPath
        ) -> UITableViewCell {
            guard let rows = binding?.rows, rows.indices.contains(path.row) else {
                return UITableViewCell()
            }
            return cell(tableView, path, rows[path.row])
        }
    }

    extension LiveList {
        /// Shows the list in a table view.
        ///
        /// - Parameters:
        ///   - tableView: The view; its data source is set.
        ///   - cell: Returns the cell of a row.
        /// - Returns: The data source; keep it as long as the view shows the list.
        public func bind(
            to tableView: UITableView,
            cell: @escaping (UITableView, IndexPath, Row) -> UITableViewCell
        ) -> ListDataSource<Row> {
            ListDataSource(self, tableView, cell)
        }
    }
#endif
