public import LiveRows

/// A model of a table view with sections, for tests; see ``TableOracle``.
///
/// The rules for rows also apply to sections. In addition, a batch changes either sections or rows, because table views
/// accept some mixtures and raise an exception for others.
public struct SectionOracle<ID: Hashable, Row: Identifiable & Equatable> {
    /// A violated rule.
    public enum Violation: Error, Hashable, Sendable, CustomStringConvertible {
        /// A batch changes sections and rows.
        case sectionsAndRows
        /// A rule for rows, violated by the sections.
        case sections(TableViolation)
        /// A rule violated by the rows of a section, with its index after the batch.
        case rows(section: Int, TableViolation)
        /// A call names a row or a section that does not exist.
        case noSuchRow(RowPath)
        /// A row from before the batch is named twice.
        case namedTwice(RowPath)

        /// The violation, in a sentence.
        public var description: String {
            switch self {
            case .sectionsAndRows:
                """
                one batch changes sections and rows; perform the changes of the sections as one \
                batch and those of the rows as the next
                """
            case .sections(let violation): "among the sections, \(violation)"
            case .rows(let section, let violation): "in section \(section), \(violation)"
            case .noSuchRow(let path):
                "row \(path.row) of section \(path.section) is named, but does not exist"
            case .namedTwice(let path):
                "row \(path.row) of section \(path.section) from before the batch is named twice"
            }
        }
    }

    private typealias Section = RowSection<ID, Row>
    private struct Heading: Identifiable, Equatable { let id: ID }

    /// The sections that the table shows.
    public private(set) var sections: [RowSection<ID, Row>]

    /// Creates a table that shows sections.
    public init(sections: [RowSection<ID, Row>]) { self.sections = sections }

    /// Performs changes as ``SectionChanges`` describes: both batches, then the updates in place.
    ///
    /// - Parameters:
    ///   - changes: The changes that the app reports.
    ///   - new: The sections of the data source after the changes.
    /// - Throws: The violated rule; the table is then unchanged.
    public mutating func apply(
        _ changes: SectionChanges,
        sections new: [RowSection<ID, Row>]
    ) throws(Violation) {
        var table = self
        let between = sectionsBetweenBatches(from: sections, to: new)
        try table.batch(SectionChanges(sections: changes.sections), sections: between)
        var rows = changes
        rows.sections = RowChanges()
        try table.batch(rows, sections: new)
        try table.update(changes.updates, sections: new)
        for (section, content) in new.enumerated() {
            try Self.check(section) { () throws(TableViolation) in
                try TableOracle(rows: table.sections[section].rows).checkContents(content.rows)
            }
        }
        self = table
    }

    /// Performs one batch; ``update(_:sections:)`` applies changed contents.
    ///
    /// - Parameters:
    ///   - changes: The changes of sections or of rows; their updates are ignored.
    ///   - new: The sections of the data source after the batch.
    /// - Throws: The violated rule; the table is then unchanged.
    public mutating func batch(
        _ changes: SectionChanges,
        sections new: [RowSection<ID, Row>]
    ) throws(Violation) {
        guard !changes.sections.hasBatch || !changes.hasRowBatch else { throw .sectionsAndRows }
        let before = try sectionsAfter(changes.sections, new)
        let calls = try RowCalls(changes, in: before)
        var shown = before
        for section in new.indices {
            shown[section].rows = try Self.rows(of: section, before, calls, new)
        }
        sections = shown
    }

    /// Updates the contents of cells in place, outside of a batch.
    ///
    /// - Parameters:
    ///   - paths: The current positions of the rows.
    ///   - new: The sections of the data source.
    /// - Throws: The violated rule: a position does not exist or is repeated.
    public mutating func update(
        _ paths: [RowPath],
        sections new: [RowSection<ID, Row>]
    ) throws(Violation) {
        for (section, paths) in Dictionary(grouping: paths, by: \.section) {
            guard sections.indices.contains(section), new.indices.contains(section) else {
                throw .noSuchRow(paths[0])
            }
            var table = TableOracle(rows: sections[section].rows)
            try Self.check(section) { () throws(TableViolation) in
                try table.update(paths.map(\.row), rows: new[section].rows)
            }
            sections[section].rows = table.cells
        }
    }

    /// Returns the sections after a batch of sections, each with the rows that it shows.
    private func sectionsAfter(
        _ changes: RowChanges,
        _ new: [Section]
    ) throws(Violation) -> [Section] {
        var headings = TableOracle(rows: sections.map { Heading(id: $0.id) })
        do throws(TableViolation) {
            try headings.apply(changes, rows: new.map { Heading(id: $0.id) })
        } catch {
            throw .sections(error)
        }
        let gone = Set(changes.deletes + changes.moves.map(\.from))
        let moved = Dictionary(uniqueKeysWithValues: changes.moves.map { ($0.to, $0.from) })
        let inserted = Set(changes.inserts)
        var staying = sections.indices.lazy.filter { !gone.contains($0) }.makeIterator()
        return new.enumerated().map { index, section in
            if inserted.contains(index) { return section }
            return (moved[index] ?? staying.next()).map { sections[$0] } ?? section
        }
    }

    /// Returns the rows that a section shows after a batch of rows.
    private static func rows(
        of section: Int,
        _ before: [Section],
        _ calls: RowCalls,
        _ new: [Section]
    ) throws(Violation) -> [Row] {
        // A moved row keeps its cell; for its new section it counts as an insertion.
        let arrivals = calls.moved.filter { $0.key.section == section }
        let removed = calls.removed.filter { $0.section == section }.map(\.row).sorted()
        let inserts = calls.inserted.filter { $0.section == section }.map(\.row)
        var after = new[section].rows
        var table = TableOracle(rows: before[section].rows)
        try check(section) { () throws(TableViolation) in
            for (path, row) in arrivals {
                guard after.indices.contains(path.row) else {
                    throw .noSuchRow(call: .insert(path.row), count: after.count)
                }
                guard after[path.row].id == row.id else {
                    let expected = "\(after[path.row])"
                    throw .wrongRow(new: path.row, shown: "\(row)", expected: expected)
                }
                after[path.row] = row
            }
            let additions = (inserts + arrivals.keys.map(\.row)).map { TableOracleCall.insert($0) }
            try table.batch(additions + removed.map { .delete($0) }, rows: after)
        }
        return table.cells
    }

    private static func check(
        _ section: Int,
        _ body: () throws(TableViolation) -> Void
    ) throws(Violation) {
        do throws(TableViolation) { try body() } catch { throw .rows(section: section, error) }
    }

    /// The rows that the calls of a batch name, after they are checked.
    private struct RowCalls {
        /// Positions before the batch.
        var removed: Set<RowPath> = []
        /// Positions after the batch.
        var inserted: [RowPath]
        /// The cells of moved rows, by their positions after the batch.
        var moved: [RowPath: Row] = [:]

        init(_ changes: SectionChanges, in before: [Section]) throws(Violation) {
            inserted = changes.inserts
            for path in changes.deletes + changes.moves.map(\.from) {
                guard before.indices.contains(path.section),
                    before[path.section].rows.indices.contains(path.row)
                else { throw .noSuchRow(path) }
                guard removed.insert(path).inserted else { throw .namedTwice(path) }
            }
            for path in changes.inserts + changes.moves.map(\.to)
            where !before.indices.contains(path.section) { throw .noSuchRow(path) }
            for move in changes.moves {
                moved[move.to] = before[move.from.section].rows[move.from.row]
            }
        }
    }
}

extension SectionOracle: Sendable where ID: Sendable, Row: Sendable {}
