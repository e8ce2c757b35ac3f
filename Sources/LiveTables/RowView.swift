public import LiveRows

/// A view that shows rows and performs batches, such as a table view.
@MainActor public protocol RowView: AnyObject {
    /// Reloads all rows from the data source, without a batch.
    func reloadRows()

    /// Performs deletions, insertions and moves as one batch.
    ///
    /// - Parameters:
    ///   - changes: The batch, without its updates.
    ///   - takeRows: Switches the data source to the rows after the batch. Call it once, within the batch, before this
    ///     method returns.
    func performBatch(_ changes: RowChanges, takeRows: @escaping () -> Void)

    /// Updates the contents of rows in place, outside of a batch.
    ///
    /// - Parameter indices: The current indices of the rows.
    func updateRows(_ indices: [Int])
}

/// A view that shows sections of rows and performs batches.
@MainActor public protocol SectionView: AnyObject {
    /// Reloads all sections from the data source, without a batch.
    func reloadSections()

    /// Performs deletions, insertions and moves of sections and rows as one batch.
    ///
    /// - Parameters:
    ///   - changes: The batch, without its updates.
    ///   - takeSections: Switches the data source to the sections after the batch. Call it once, within the batch,
    ///     before this method returns.
    func performBatch(_ changes: SectionChanges, takeSections: @escaping () -> Void)

    /// Updates the contents of rows in place, outside of a batch.
    ///
    /// - Parameter paths: The current positions of the rows.
    func updateRows(_ paths: [RowPath])
}
