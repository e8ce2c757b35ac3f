/// The changes from one list of rows to another, in the form of a table view's batch updates.
///
/// Deletions, insertions and moves form one batch. Deletions and the origins of moves are indices before the batch;
/// insertions and the targets of moves are indices after it. The order of the calls does not matter. Updates are a
/// second pass over the new list, in place; a row that has moved *and* changed is in both.
public struct RowChanges: Sendable, Hashable {
    /// A row that moves within the list.
    public struct Move: Sendable, Hashable {
        /// The row's index before the batch.
        public var from: Int
        /// The row's index after the batch.
        public var to: Int

        /// Creates a move.
        ///
        /// - Parameters:
        ///   - from: The row's index before the batch.
        ///   - to: The row's index after the batch.
        public init(from: Int, to: Int) {
            self.from = from
            self.to = to
        }
    }

    /// The deleted rows: indices before the batch, ascending.
    public var deletes: [Int]
    /// The inserted rows: indices after the batch, ascending.
    public var inserts: [Int]
    /// The moved rows, ascending by their new index; the number of moves is minimal.
    public var moves: [Move]
    /// The rows with changed contents: indices after the batch, ascending.
    public var updates: [Int]

    /// Creates changes; none by default.
    ///
    /// - Parameters:
    ///   - deletes: Indices before the batch, ascending.
    ///   - inserts: Indices after the batch, ascending.
    ///   - moves: From indices before the batch to indices after it.
    ///   - updates: Indices after the batch, ascending.
    public init(
        deletes: [Int] = [],
        inserts: [Int] = [],
        moves: [Move] = [],
        updates: [Int] = []
    ) {
        self.deletes = deletes
        self.inserts = inserts
        self.moves = moves
        self.updates = updates
    }

    /// Whether both lists are equal.
    public var isEmpty: Bool { !hasBatch && updates.isEmpty }

    /// Whether there are deletions, insertions or moves.
    public var hasBatch: Bool { !deletes.isEmpty || !inserts.isEmpty || !moves.isEmpty }

    /// The number of operations for a table view.
    public var operationCount: Int {
        deletes.count + inserts.count + moves.count + updates.count
    }
}

extension RowChanges: CustomStringConvertible {
    /// The changes in one line, such as `-[0, 1] +[3] 5→2 ~[4]`.
    public var description: String {
        var parts: [String] = []
        if !deletes.isEmpty { parts.append("-\(deletes)") }
        if !inserts.isEmpty { parts.append("+\(inserts)") }
        parts += moves.map { "\($0.from)→\($0.to)" }
        if !updates.isEmpty { parts.append("~\(updates)") }
        return parts.isEmpty ? "no changes" : parts.joined(separator: " ")
    }
}
