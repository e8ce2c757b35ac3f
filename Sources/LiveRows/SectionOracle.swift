/// A model of a table view with sections, for tests; see ``TableOracle``.
///
/// The rules for rows also apply to sections; and rows of a deleted or inserted section must not be listed.
public struct SectionOracle<ID: Hashable, Row: Identifiable & Equatable> {
    /// A violated rule.
    public enum Violation: Error, Hashable, Sendable, CustomStringConvertible {
        /// A rule for rows, violated by the sections.
        case sections(TableViolation)
        /// A rule violated by the rows of a section, with its index after the batch.
        case rows(section: Int, TableViolation)
        /// A call names a row in a section that is deleted, inserted or does not exist.
        case rowOfSectionThatIsNotKept(RowPath)
        /// A row from before the batch is named twice.
        case namedTwice(RowPath)

        /// The violation, in a sentence.
        public var description: String {
            switch self {
            case .sections(let violation): "among the sections, \(violation)"
            case .rows(let section, let violation): "in section \(section), \(violation)"
            case .rowOfSectionThatIsNotKept(let path):
                """
                row \(path.row) of section \(path.section) is named, but the section is deleted or \
                inserted as a whole, or does not exist
                """
            case .namedTwice(let path):
                "row \(path.row) of section \(path.section) from before the batch is named twice"
            }
        }
    }

    private struct Heading: Identifiable, Equatable { let id: ID }

    /// The sections that the table shows.
    public private(set) var sections: [RowSection<ID, Row>]

    /// Creates a table that shows sections.
    public init(sections: [RowSection<ID, Row>]) { self.sections = sections }

    /// Performs changes as a table view does: one batch, then the updates in place.
    ///
    /// - Parameters:
    ///   - changes: The changes that the app reports.
    ///   - new: The sections of the data source after the changes.
    /// - Throws: The violated rule; the table is then unchanged.
    public mutating func apply(
        _ changes: SectionChanges,
        sections new: [RowSection<ID, Row>]
    ) throws(Violation) {
        var headings = TableOracle(rows: sections.map { Heading(id: $0.id) })
        do throws(TableViolation) {
            try headings.apply(changes.sections, rows: new.map { Heading(id: $0.id) })
        } catch {
            throw .sections(error)
        }
        let origins = origins(changes.sections, count: new.count)
        let rows = try changedRows(changes, origins)
        var shown = new
        for (section, origin) in origins.enumerated() {
            guard let origin else { continue }
            shown[section].rows = try show(section, from: origin, changes, rows, new)
        }
        sections = shown
    }

    /// Returns for each section after the batch its index before; `nil` for an inserted one.
    private func origins(_ changes: RowChanges, count: Int) -> [Int?] {
        let gone = Set(changes.deletes + changes.moves.map(\.from))
        let moved = Dictionary(uniqueKeysWithValues: changes.moves.map { ($0.to, $0.from) })
        let inserted = Set(changes.inserts)
        var staying = sections.indices.lazy.filter { !gone.contains($0) }.makeIterator()
        return (0..<count).map { section in
            inserted.contains(section) ? nil : moved[section] ?? staying.next()
        }
    }

    private struct Named {
        var removed: Set<RowPath> = []
        var added: [RowPath: Row] = [:]
    }

    /// Collects and checks the rows that the calls name.
    private func changedRows(
        _ changes: SectionChanges,
        _ origins: [Int?]
    ) throws(Violation) -> Named {
        var named = Named()
        let kept = Set(origins.compactMap { $0 })
        for path in changes.deletes + changes.moves.map(\.from) {
            guard kept.contains(path.section),
                sections[path.section].rows.indices.contains(path.row)
            else { throw .rowOfSectionThatIsNotKept(path) }
            guard named.removed.insert(path).inserted else { throw .namedTwice(path) }
        }
        for path in changes.inserts + changes.moves.map(\.to) + changes.updates {
            guard origins.indices.contains(path.section), origins[path.section] != nil else {
                throw .rowOfSectionThatIsNotKept(path)
            }
        }
        for move in changes.moves {
            named.added[move.to] = sections[move.from.section].rows[move.from.row]
        }
        return named
    }

    /// Returns the cells of a section after the batch and the updates.
    private func show(
        _ section: Int,
        from origin: Int,
        _ changes: SectionChanges,
        _ named: Named,
        _ new: [RowSection<ID, Row>]
    ) throws(Violation) -> [Row] {
        // A row from another section keeps its cell; for this section it counts as an insertion.
        let old = sections[origin].rows
        let additions = named.added.filter { $0.key.section == section }
        var table = TableOracle(rows: old)
        var after = new[section].rows
        for (path, row) in additions {
            guard after.indices.contains(path.row) else {
                throw .rows(
                    section: section,
                    .noSuchRow(call: .insert(path.row), count: after.count)
                )
            }
            after[path.row] = row
        }
        let removed = named.removed.filter { $0.section == origin }.map(\.row).sorted()
        let inserts = changes.inserts.filter { $0.section == section }.map(\.row)
        let calls =
            (inserts + additions.keys.map(\.row)).map { TableOracleCall.insert($0) }
            + removed.map { .delete($0) }
        do throws(TableViolation) {
            try table.batch(calls, rows: after)
            for (path, row) in additions where row.id != new[section].rows[path.row].id {
                throw TableViolation.wrongRow(
                    new: path.row,
                    shown: "\(row)",
                    expected: "\(new[section].rows[path.row])"
                )
            }
            let updates = changes.updates.filter { $0.section == section }.map(\.row)
            try table.update(updates, rows: new[section].rows)
            try table.checkContents(new[section].rows)
        } catch {
            throw .rows(section: section, error)
        }
        return table.cells
    }
}

extension SectionOracle: Sendable where ID: Sendable, Row: Sendable {}
