public import LiveRows

/// What shows rows and performs batches: the calls of a table view, and no more.
@MainActor public protocol RowView: AnyObject {
    /// Shows all rows of the data source anew, without any batch.
    func reloadRows()

    /// Performs deletions, insertions and moves as one batch.
    ///
    /// - Parameters:
    ///   - changes: The batch; its updates are not part of it.
    ///   - takeRows: Makes the data source report the rows after the batch. To be called once, within
    ///     the batch, before this returns.
    func performBatch(_ changes: RowChanges, takeRows: @escaping () -> Void)

    /// Makes the contents of rows anew, in place, when no batch is going on.
    ///
    /// - Parameter indices: Indices of rows that are there.
    func updateRows(_ indices: [Int])
}

/// What shows sections of rows and performs batches.
@MainActor public protocol SectionView: AnyObject {
    /// Shows all sections of the data source anew, without any batch.
    func reloadSections()

    /// Performs deletions, insertions and moves of sections and rows as one batch.
    ///
    /// - Parameters:
    ///   - changes: The batch; its updates are not part of it.
    ///   - takeSections: Makes the data source report the sections after the batch. To be called once,
    ///     within the batch, before this returns.
    func performBatch(_ changes: SectionChanges, takeSections: @escaping () -> Void)

    /// Makes the contents of rows anew, in place, when no batch is going on.
    ///
    /// - Parameter paths: Places of rows that are there.
    func updateRows(_ paths: [RowPath])
}
