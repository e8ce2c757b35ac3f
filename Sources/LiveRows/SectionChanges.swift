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

/// The changes from one list of sections to another: a batch of sections, a batch of rows, and updates.
///
/// Table views refuse a batch in which rows move while sections are inserted, deleted or moved. So the changes are
/// three passes, and each begins with the result of the previous one:
///
/// 1. ``sections``: all rows stay in their sections. An inserted section already has its rows; a deleted section takes
///    its rows with it. ``sectionsBetweenBatches(from:to:)`` returns what the data source then shows.
/// 2. ``deletes``, ``inserts`` and ``moves`` of rows: deletions and origins are positions before this batch; insertions
///    and targets are positions after it. In both, the sections are those after the first batch.
/// 3. ``updates``, in place.
public struct SectionChanges: Sendable, Hashable {
    /// A row that moves within its section or to another.
    public struct Move: Sendable, Hashable {
        /// The row's position before the batch of rows.
        public var from: RowPath
        /// The row's position after the batch of rows.
        public var to: RowPath

        /// Creates a move.
        ///
        /// - Parameters:
        ///   - from: The row's position before the batch of rows.
        ///   - to: The row's position after the batch of rows.
        public init(from: RowPath, to: RowPath) {
            self.from = from
            self.to = to
        }
    }

    /// The deleted, inserted and moved sections; there are no updates.
    public var sections: RowChanges
    /// The deleted rows: positions before the batch of rows, ascending.
    public var deletes: [RowPath]
    /// The inserted rows: positions after the batch of rows, ascending.
    public var inserts: [RowPath]
    /// The moved rows, ascending by their new position.
    public var moves: [Move]
    /// The rows with changed contents: positions after both batches, ascending.
    public var updates: [RowPath]

    /// Creates changes; none by default.
    ///
    /// - Parameters:
    ///   - sections: The deleted, inserted and moved sections.
    ///   - deletes: Positions before the batch of rows.
    ///   - inserts: Positions after the batch of rows.
    ///   - moves: From positions before the batch of rows to positions after it.
    ///   - updates: Positions after both batches.
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
    public var isEmpty: Bool { !sections.hasBatch && !hasRowBatch && updates.isEmpty }

    /// Whether there are deletions, insertions or moves of rows.
    public var hasRowBatch: Bool { !deletes.isEmpty || !inserts.isEmpty || !moves.isEmpty }
}

/// The error for two sections, or two rows, of a table with the same ID.
public enum DuplicateInSections: Error, Hashable, Sendable, CustomStringConvertible {
    /// Two sections have the same ID.
    case section(DuplicateRow)
    /// Two rows have the same ID, in one section or in two.
    case row(id: String, first: RowPath, second: RowPath)

    /// The error and what to do about it.
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
