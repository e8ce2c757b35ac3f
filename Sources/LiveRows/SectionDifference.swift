/// Returns the changes from one list of sections to another.
///
/// Sections and rows are matched by id; a row can move to another section. Within a section the number of moves is
/// minimal.
///
/// - Parameters:
///   - old: The sections before.
///   - new: The sections after.
/// - Returns: One batch, and the updates after it.
/// - Throws: ``DuplicateInSections`` when two sections, or two rows of any sections, have the same id.
public func sectionChanges<ID: Hashable, Row: Identifiable & Equatable>(
    from old: [RowSection<ID, Row>],
    to new: [RowSection<ID, Row>]
) throws(DuplicateInSections) -> SectionChanges {
    var difference = SectionDifference(old: old, new: new)
    return try difference.changes()
}

/// A section that is compared by its id only.
private struct Heading<ID: Hashable>: Identifiable, Equatable { let id: ID }

private struct SectionDifference<ID: Hashable, Row: Identifiable & Equatable> {
    let old: [RowSection<ID, Row>]
    let new: [RowSection<ID, Row>]
    private var result = SectionChanges()
    /// For each new section, its old index.
    private var origins: [Int?] = []
    /// The positions of the unmatched rows in the old sections that remain.
    private var positions: [Row.ID: RowPath] = [:]

    init(old: [RowSection<ID, Row>], new: [RowSection<ID, Row>]) {
        self.old = old
        self.new = new
    }

    mutating func changes() throws(DuplicateInSections) -> SectionChanges {
        try matchSections()
        try indexOldRows()
        try checkNewRows()
        for section in new.indices {
            if let origin = origins[section] { compare(section, with: origin) }
        }
        // The rows that matched no new row are deleted.
        result.deletes = positions.values.sorted()
        return result
    }

    private mutating func matchSections() throws(DuplicateInSections) {
        let headings = (old.map { Heading(id: $0.id) }, new.map { Heading(id: $0.id) })
        if let duplicate = duplicateRow(in: headings.0) ?? duplicateRow(in: headings.1) {
            throw .section(duplicate)
        }
        do throws(DuplicateRow) {
            result.sections = try rowChanges(from: headings.0, to: headings.1)
        } catch {
            throw .section(error)
        }
        let indices = Dictionary(uniqueKeysWithValues: zip(old.map(\.id), old.indices))
        origins = new.map { indices[$0.id] }
    }

    private mutating func indexOldRows() throws(DuplicateInSections) {
        for section in origins.compactMap({ $0 }).sorted() {
            for (row, element) in old[section].rows.enumerated() {
                let path = RowPath(section: section, row: row)
                if let first = positions.updateValue(path, forKey: element.id) {
                    throw .row(id: "\(element.id)", first: first, second: path)
                }
            }
        }
    }

    private func checkNewRows() throws(DuplicateInSections) {
        var seen: [Row.ID: RowPath] = [:]
        for (section, content) in new.enumerated() {
            for (row, element) in content.rows.enumerated() {
                let path = RowPath(section: section, row: row)
                if let first = seen.updateValue(path, forKey: element.id) {
                    throw .row(id: "\(element.id)", first: first, second: path)
                }
            }
        }
    }

    /// Appends the changes of a section that remains.
    private mutating func compare(_ section: Int, with origin: Int) {
        let sources = new[section].rows.map { positions.removeValue(forKey: $0.id) }
        let numbers = sources.map { $0?.section == origin ? $0?.row ?? -1 : -1 }
        let isKept = numbers.withUnsafeBufferPointer { longestIncreasingSubsequence($0) }
        for (row, source) in sources.enumerated() {
            let path = RowPath(section: section, row: row)
            guard let source else {
                result.inserts.append(path)
                continue
            }
            if !isKept[row] { result.moves.append(SectionChanges.Move(from: source, to: path)) }
            if old[source.section].rows[source.row] != new[section].rows[row] {
                result.updates.append(path)
            }
        }
    }
}
