internal import LiveRows

extension SectionChanges {
    /// The batch of rows in the only section of a view.
    init(inFirstSection changes: RowChanges) {
        let path = { (row: Int) in RowPath(section: 0, row: row) }
        self.init(
            deletes: changes.deletes.map(path),
            inserts: changes.inserts.map(path),
            moves: changes.moves.map { Move(from: path($0.from), to: path($0.to)) }
        )
    }
}

#if canImport(UIKit) && !os(watchOS)
    internal import UIKit

    extension RowPath {
        /// The position as an index path of UIKit.
        var indexPath: IndexPath { IndexPath(row: row, section: section) }
    }
#endif
