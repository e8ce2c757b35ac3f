#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    public import AppKit
    public import LiveRows

    /// A table view's rows as those of a list.
    extension NSTableView: RowView {
        /// Reloads all data.
        public func reloadRows() { reloadData() }

        /// Performs the batch.
        ///
        /// Here the calls of a batch follow one another, each in the rows that the one before has
        /// left: so a row that moves goes with the deleted ones, and comes with the inserted.
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

        /// Asks for the cells of rows anew, in place.
        public func updateRows(_ indices: [Int]) {
            reloadData(
                forRowIndexes: IndexSet(indices),
                columnIndexes: IndexSet(integersIn: 0..<numberOfColumns)
            )
        }
    }
#endif
