#if canImport(UIKit) && !os(watchOS)
    public import LiveCollections
    internal import LiveRows
    public import UIKit

    /// The data source of a table view that is bound to a list; keep it as long as the view shows the list.
    @MainActor public final class ListDataSource<Row: LiveRow>: NSObject, UITableViewDataSource
    where Row.ID: Sendable {
        private let cell: (UITableView, IndexPath, Row) -> UITableViewCell
        /// The binding of the list to the view.
        public let binding: RowBinding<Row>

        init(
            _ list: LiveList<Row>,
            _ tableView: UITableView,
            _ cell: @escaping (UITableView, IndexPath, Row) -> UITableViewCell
        ) {
            self.cell = cell
            binding = RowBinding(list, to: tableView)
            super.init()
            // After the binding has its rows, because the view counts them when its data source is set.
            tableView.dataSource = self
            tableView.reloadData()
        }

        /// The number of shown rows.
        public func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int {
            binding.rows.count
        }

        /// The cell of a row.
        public func tableView(
            _ tableView: UITableView,
            cellForRowAt path: IndexPath
        ) -> UITableViewCell {
            guard binding.rows.indices.contains(path.row) else { return UITableViewCell() }
            return cell(tableView, path, binding.rows[path.row])
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
