public import LiveRows

/// A view that shows rows and performs batches, such as a table view.
@MainActor public protocol RowView: AnyObject {
    /// Whether the view is in a window; otherwise it is reloaded, because table views do not support batches there.
    var isInWindow: Bool { get }

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
    /// Whether the view is in a window; otherwise it is reloaded, because table views do not support batches there.
    var isInWindow: Bool { get }

    /// Reloads all sections from the data source, without a batch.
    func reloadSections()

    /// Performs deletions, insertions and moves, either of sections or of rows, as one batch.
    ///
    /// - Parameters:
    ///   - changes: The batch, without updates. It never changes both sections and rows.
    ///   - takeSections: Switches the data source to the sections after the batch. Call it once, within the batch,
    ///     before this method returns.
    func performBatch(_ changes: SectionChanges, takeSections: @escaping () -> Void)

    /// Updates the contents of rows in place, outside of a batch.
    ///
    /// - Parameter paths: The current positions of the rows.
    func updateRows(_ paths: [RowPath])
}

/// The maximum number of animated changes; with more, the view is reloaded.
package let animatedChangesMax = 1000
