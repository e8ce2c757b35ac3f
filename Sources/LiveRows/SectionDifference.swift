/// Returns the changes from one list of sections to another.
///
/// Sections and rows are matched by ID; a row can move to another section. Within a section the number of moves is
/// minimal.
///
/// - Parameters:
///   - old: The sections before.
///   - new: The sections after.
/// - Returns: A batch of sections, a batch of rows, and the updates after them.
/// - Throws: ``DuplicateInSections`` when two sections, or two rows of any sections, have the same ID.
public func sectionChanges<ID: Hashable, Row: Identifiable & Equatable>(
    from old: [RowSection<ID, Row>],
    to new: [RowSection<ID, Row>]
) throws(DuplicateInSections) -> SectionChanges {
    var difference = SectionDifference(old: old, new: new)
    return try difference.changes()
}

/// Returns the sections after the batch of sections and before the batch of rows; see ``SectionChanges``.
///
/// - Parameters:
///   - old: The sections before both batches.
///   - new: The sections after both batches.
/// - Returns: The new sections. Sections that are in both lists have their old rows. A row that moves from such a
///   section to an inserted one is therefore in both.
public func sectionsBetweenBatches<ID: Hashable, Row: Identifiable & Equatable>(
    from old: [RowSection<ID, Row>],
    to new: [RowSection<ID, Row>]
) -> [RowSection<ID, Row>] {
    let rows = Dictionary(old.map { ($0.id, $0.rows) }) { first, _ in first }
    return new.map { RowSection(id: $0.id, rows: rows[$0.id] ?? $0.rows) }
}

/// A section that is compared by its ID only.
private struct Heading<ID: Hashable>: Identifiable, Equatable { let id: ID }

private struct SectionDifference<ID: Hashable, Row: Identifiable & Equatable> {
    let old: [RowSection<ID, Row>]
    let new: [RowSection<ID, Row>]
    /// The sections between the batches; as many as the new ones.
    private let between: [RowSection<ID, Row>]
    private var result = SectionChanges()
    /// The positions between the batches of the unmatched rows in the sections that remain.
    private var positions: [Row.ID: RowPath] = [:]

    init(old: [RowSection<ID, Row>], new: [RowSection<ID, Row>]) {
        self.old = old
        self.new = new
        between = sectionsBetweenBatches(from: old, to: new)
    }

    mutating func changes() throws(DuplicateInSections) -> SectionChanges {
        try compareSections()
        try checkRows(of: old)
        try checkRows(of: new)
        let inserted = Set(result.sections.inserts)
        let remaining = new.indices.filter { !inserted.contains($0) }
        for section in remaining { indexRows(of: section) }
        for section in remaining { compareRows(of: section) }
        // The rows that matched no new row are deleted.
        result.deletes = positions.values.sorted()
        return result
    }

    private mutating func compareSections() throws(DuplicateInSections) {
        let headings = (old.map { Heading(id: $0.id) }, new.map { Heading(id: $0.id) })
        if let duplicate = duplicateRow(in: headings.0) ?? duplicateRow(in: headings.1) {
            throw .section(duplicate)
        }
        do throws(DuplicateRow) {
            result.sections = try rowChanges(from: headings.0, to: headings.1)
        } catch {
            throw .section(error)
        }
    }

    private func checkRows(of sections: [RowSection<ID, Row>]) throws(DuplicateInSections) {
        var seen: [Row.ID: RowPath] = [:]
        for (section, content) in sections.enumerated() {
            for (row, element) in content.rows.enumerated() {
                let path = RowPath(section: section, row: row)
                if let first = seen.updateValue(path, forKey: element.id) {
                    throw .row(id: "\(element.id)", first: first, second: path)
                }
            }
        }
    }

    private mutating func indexRows(of section: Int) {
        for (row, element) in between[section].rows.enumerated() {
            positions[element.id] = RowPath(section: section, row: row)
        }
    }

    /// Appends the changes of a section that remains.
    private mutating func compareRows(of section: Int) {
        let sources = new[section].rows.map { positions.removeValue(forKey: $0.id) }
        let numbers = sources.map { $0?.section == section ? $0?.row ?? -1 : -1 }
        let isKept = numbers.withUnsafeBufferPointer { longestIncreasingSubsequence($0) }
        for (row, source) in sources.enumerated() {
            let path = RowPath(section: section, row: row)
            guard let source else {
                result.inserts.append(path)
                continue
            }
            if !isKept[row] { result.moves.append(SectionChanges.Move(from: source, to: path)) }
            if between[source.section].rows[source.row] != new[section].rows[row] {
                result.updates.append(path)
            }
        }
    }
}
