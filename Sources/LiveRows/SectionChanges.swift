/// Where a row stands in a table with sections.
public struct RowPath: Sendable, Hashable, Comparable {
    /// The section's index.
    public var section: Int
    /// The row's index in the section.
    public var row: Int

    /// Names a row.
    ///
    /// - Parameters:
    ///   - section: The section's index.
    ///   - row: The row's index in the section.
    public init(section: Int, row: Int) {
        self.section = section
        self.row = row
    }

    /// Whether the left row stands above the right one.
    public static func < (left: RowPath, right: RowPath) -> Bool {
        (left.section, left.row) < (right.section, right.row)
    }
}

/// What leads from one list of sections to another: one batch, and the updates after it.
///
/// As in ``RowChanges``, what goes is named by its place before the batch and what comes by its
/// place after it, sections and rows alike. Rows of a section that goes or comes are not named: they
/// go and come with it.
public struct SectionChanges: Sendable, Hashable {
    /// A row that stays in the table and changes its place, in its section or to another.
    public struct Move: Sendable, Hashable {
        /// The row's place before the batch.
        public var from: RowPath
        /// The row's place after the batch.
        public var to: RowPath

        /// Names the two places of a row.
        ///
        /// - Parameters:
        ///   - from: The row's place before the batch.
        ///   - to: The row's place after the batch.
        public init(from: RowPath, to: RowPath) {
            self.from = from
            self.to = to
        }
    }

    /// The sections that come, go and change places; it has no updates.
    public var sections: RowChanges
    /// The rows that go: places before the batch, ascending.
    public var deletes: [RowPath]
    /// The rows that come: places after the batch, ascending.
    public var inserts: [RowPath]
    /// The rows that change places, ascending by their new ones.
    public var moves: [Move]
    /// The rows that stay and have other contents: places after the batch, ascending.
    public var updates: [RowPath]

    /// Collects changes; without arguments, none.
    ///
    /// - Parameters:
    ///   - sections: The sections that come, go and change places.
    ///   - deletes: Places before the batch.
    ///   - inserts: Places after the batch.
    ///   - moves: From places before the batch to places after it.
    ///   - updates: Places after the batch.
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

    /// Whether both lists are the same.
    public var isEmpty: Bool { !hasBatch && updates.isEmpty }

    /// Whether sections or rows come, go or change places.
    public var hasBatch: Bool {
        sections.hasBatch || !deletes.isEmpty || !inserts.isEmpty || !moves.isEmpty
    }
}

/// Two sections or two rows of a table have one id.
public enum DuplicateInSections: Error, Hashable, Sendable, CustomStringConvertible {
    /// Two sections have one id.
    case section(DuplicateRow)
    /// Two rows have one id, in one section or in two.
    case row(id: String, first: RowPath, second: RowPath)

    /// What is wrong, and what to do about it.
    public var description: String {
        switch self {
        case .section(let duplicate):
            """
            sections \(duplicate.first) and \(duplicate.second) have the same id \(duplicate.id); \
            put their rows into one
            """
        case .row(let id, let first, let second):
            """
            row \(first.row) of section \(first.section) and row \(second.row) of section \
            \(second.section) have the same id \(id); a row is in one section only
            """
        }
    }
}
