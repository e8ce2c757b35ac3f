#if canImport(UIKit) && !os(watchOS)
    public import LiveCollections
    public import LiveRows
    public import UIKit

    extension RowBinding {
        /// Shows a list in the first section of a collection view.
        ///
        /// - Parameters:
        ///   - list: The list; retained.
        ///   - collectionView: The view; held weakly. Set its data source, which returns ``rows``, after this call.
        public convenience init(_ list: LiveList<Row>, to collectionView: UICollectionView) {
            let view = { [weak collectionView] in collectionView.map(CollectionRows.init) }
            self.init(list, view: view)
        }
    }

    extension SectionBinding {
        /// Shows a list in the sections of a collection view.
        ///
        /// - Parameters:
        ///   - list: The list; retained.
        ///   - collectionView: The view; held weakly. Set its data source, which returns ``sections``, after this call.
        ///   - build: Groups rows into sections, as `sections(of:by:)` does.
        public convenience init(
            _ list: LiveList<Row>,
            to collectionView: UICollectionView,
            build: @escaping (RowList<Row>) -> [RowSection<ID, Row>]
        ) {
            let view = { [weak collectionView] in collectionView.map(CollectionRows.init) }
            self.init(list, view: view, build: build)
        }
    }

    /// The sections and items of a collection view.
    @MainActor private final class CollectionRows: RowView, SectionView {
        private let collectionView: UICollectionView

        init(_ collectionView: UICollectionView) { self.collectionView = collectionView }

        var isInWindow: Bool { collectionView.window != nil }

        func reloadRows() { collectionView.reloadData() }

        func reloadSections() { collectionView.reloadData() }

        func performBatch(_ changes: RowChanges, takeRows: @escaping () -> Void) {
            performBatch(SectionChanges(inFirstSection: changes), takeSections: takeRows)
        }

        func performBatch(_ changes: SectionChanges, takeSections: @escaping () -> Void) {
            collectionView.performBatchUpdates { [collectionView] in
                takeSections()
                let (sections, items) = (changes.sections, changes)
                collectionView.deleteSections(IndexSet(sections.deletes))
                collectionView.insertSections(IndexSet(sections.inserts))
                for move in sections.moves {
                    collectionView.moveSection(move.from, toSection: move.to)
                }
                collectionView.deleteItems(at: items.deletes.map(\.indexPath))
                collectionView.insertItems(at: items.inserts.map(\.indexPath))
                for move in items.moves {
                    collectionView.moveItem(at: move.from.indexPath, to: move.to.indexPath)
                }
            }
        }

        func updateRows(_ indices: [Int]) {
            collectionView.reconfigureItems(at: indices.map { IndexPath(item: $0, section: 0) })
        }

        func updateRows(_ paths: [RowPath]) {
            collectionView.reconfigureItems(at: paths.map(\.indexPath))
        }
    }
#endif
