/// The position of a row in a table with sections.
public struct RowPath: Sendable, Hashable, Comparable {
    /// The section's index.
    public var section: Int
    /// The row's index in the section.
    public var row: Int

    /// Creates a position.
    ///
    /// - Parameters:
    ///   - section: The section's index.
    ///   - row: The row's index in the section.
    public init(section: Int, row: Int) {
        self.section = section
        self.row = row
    }

    /// Whether the left row is above the right one.
    public static func < (left: RowPath, right: RowPath) -> Bool {
        (left.section, left.row) < (right.section, right.row)
    }
}

/// The changes from one list of sections to another: one batch, and the updates after it.
///
/// As in ``RowChanges``, deletions are positions before the batch and insertions positions after it, for sections and
/// rows. Rows of a deleted or inserted section are not listed.
public struct SectionChanges: Sendable, Hashable {
    /// A row that moves within its section or to another.
    public struct Move: Sendable, Hashable {
        /// The row's position before the batch.
        public var from: RowPath
        /// The row's position after the batch.
        public var to: RowPath

        /// Creates a move.
        ///
        /// - Parameters:
        ///   - from: The row's position before the batch.
        ///   - to: The row's position after the batch.
        public init(from: RowPath, to: RowPath) {
            self.from = from
            self.to = to
        }
    }

    /// The deleted, inserted and moved sections; there are no updates.
    public var sections: RowChanges
    /// The deleted rows: positions before the batch, ascending.
    public var deletes: [RowPath]
    /// The inserted rows: positions after the batch, ascending.
    public var inserts: [RowPath]
    /// The moved rows, ascending by their new position.
    public var moves: [Move]
    /// The rows with changed contents: positions after the batch, ascending.
    public var updates: [RowPath]

    /// Creates changes; none by default.
    ///
    /// - Parameters:
    ///   - sections: The deleted, inserted and moved sections.
    ///   - deletes: Positions before the batch.
    ///   - inserts: Positions after the batch.
    ///   - moves: From positions before the batch to positions after it.
    ///   - updates: Positions after the batch.
    public init(
        sections: RowChanges = RowChanges(),
        deletes: [RowPath] = [],
        inserts: [RowPath] = [],
        moves: [Move] = [],
        updates: [RowPath] = []
    ) {
        self.sections = sections
        self.deletes = deletes
        self.inserts = inserts
        self.moves = moves
        self.updates = updates
    }

    /// Whether both lists are equal.
    public var isEmpty: Bool { !hasBatch && updates.isEmpty }

    /// Whether there are deletions, insertions or moves of sections or rows.
    public var hasBatch: Bool {
        sections.hasBatch || !deletes.isEmpty || !inserts.isEmpty || !moves.isEmpty
    }
}

/// The error for two sections, or two rows, of a table with the same id.
public enum DuplicateInSections: Error, Hashable, Sendable, CustomStringConvertible {
    /// Two sections have the same id.
    case section(DuplicateRow)
    /// Two rows have the same id, in one section or in two.
    case row(id: String, first: RowPath, second: RowPath)

    /// The error and its remedy.
    public var description: String {
        switch self {
        case .section(let duplicate):
            """
            sections \(duplicate.first) and \(duplicate.second) have the same id \(duplicate.id); \
            merge them
            """
        case .row(let id, let first, let second):
            """
            row \(first.row) of section \(first.section) and row \(second.row) of section \
            \(second.section) have the same id \(id); a row is in one section only
            """
        }
    }
}
