/// What leads from one list of rows to another, in the words of a table view's batch.
///
/// The deletions, insertions and moves are one batch: deletions and where a row moves from are
/// indices before it, insertions and where a row moves to are indices after it, whatever the order
/// of the calls. The updates are a second pass over the new list, in place: a row that has moved
/// *and* changed is named in both.
public struct RowChanges: Sendable, Hashable {
    /// A row that stays in the list and changes its place.
    public struct Move: Sendable, Hashable {
        /// The row's index before the batch.
        public var from: Int
        /// The row's index after the batch.
        public var to: Int

        /// Names the two places of a row.
        ///
        /// - Parameters:
        ///   - from: The row's index before the batch.
        ///   - to: The row's index after the batch.
        public init(from: Int, to: Int) {
            self.from = from
            self.to = to
        }
    }

    /// The rows that go: indices before the batch, ascending.
    public var deletes: [Int]
    /// The rows that come: indices after the batch, ascending.
    public var inserts: [Int]
    /// The rows that change places, ascending by their new ones; no fewer moves would do.
    public var moves: [Move]
    /// The rows that stay and have other contents: indices after the batch, ascending.
    public var updates: [Int]

    /// Collects changes; without arguments, none.
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

    /// Whether both lists are the same.
    public var isEmpty: Bool { !hasBatch && updates.isEmpty }

    /// Whether rows come, go or change places; otherwise there are updates at most.
    public var hasBatch: Bool { !deletes.isEmpty || !inserts.isEmpty || !moves.isEmpty }

    /// How many rows are named: what a table view has to do.
    public var operationCount: Int {
        deletes.count + inserts.count + moves.count + updates.count
    }
}

extension RowChanges: CustomStringConvertible {
    /// The changes in one line, as `-[0, 1] +[3] 5→2 ~[4]`.
    public var description: String {
        var parts: [String] = []
        if !deletes.isEmpty { parts.append("-\(deletes)") }
        if !inserts.isEmpty { parts.append("+\(inserts)") }
        parts += moves.map { "\($0.from)→\($0.to)" }
        if !updates.isEmpty { parts.append("~\(updates)") }
        return parts.isEmpty ? "no changes" : parts.joined(separator: " ")
    }
}
