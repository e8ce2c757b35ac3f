#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    public import AppKit
    public import LiveRows

    /// Shows a list as the rows of a table view.
    extension NSTableView: RowView {
        /// Reloads all data.
        public func reloadRows() { reloadData() }

        /// Performs the batch.
        ///
        /// `NSTableView` performs the calls of a batch one after the other, with the indices after the previous call. A
        /// moved row is therefore deleted and inserted.
        public func performBatch(_ changes: RowChanges, takeRows: @escaping () -> Void) {
            takeRows()
            beginUpdates()
            removeRows(
                at: IndexSet(changes.deletes + changes.moves.map(\.from)),
                withAnimation: .effectFade
            )
            insertRows(
                at: IndexSet(changes.inserts + changes.moves.map(\.to)),
                withAnimation: .effectGap
            )
            endUpdates()
        }

        /// Reloads the cells of rows, in place.
        public func updateRows(_ indices: [Int]) {
            reloadData(
                forRowIndexes: IndexSet(indices),
                columnIndexes: IndexSet(integersIn: 0..<numberOfColumns)
            )
        }
    }
#endif
