import FanfareTesting
import LiveCollections
import LiveRows
import LiveTables

/// A row of the tests.
struct Contact: Identifiable, Equatable, Sendable {
    var id: Int
    var name: String
}

/// A table view that checks the rules with a table oracle.
@MainActor final class StubTable: RowView {
    private(set) var oracle = TableOracle<Contact>(rows: [])
    /// The data source.
    var dataSource: () -> RowList<Contact> = { [] }
    private(set) var calls: [String] = []
    private(set) var violations: [TableViolation] = []
    var isInWindow = true

    func reloadRows() {
        calls.append("reload")
        oracle.reload(dataSource())
    }

    func performBatch(_ changes: RowChanges, takeRows: @escaping () -> Void) {
        calls.append("batch")
        if Array(dataSource()) != oracle.cells { calls.append("the data changed before the batch") }
        takeRows()
        check { () throws(TableViolation) in
            try oracle.batch(
                changes.inserts.map { .insert($0) } + changes.deletes.map { .delete($0) }
                    + changes.moves.map { .move(from: $0.from, to: $0.to) },
                rows: dataSource()
            )
        }
    }

    func updateRows(_ indices: [Int]) {
        calls.append("update")
        check { () throws(TableViolation) in try oracle.update(indices, rows: dataSource()) }
    }

    private func check(_ body: () throws(TableViolation) -> Void) {
        do throws(TableViolation) { try body() } catch { violations.append(error) }
    }
}

/// A table view with sections that checks the rules with an oracle.
@MainActor final class StubSections: SectionView {
    private(set) var oracle = SectionOracle<String, Contact>(sections: [])
    var dataSource: () -> [RowSection<String, Contact>] = { [] }
    private(set) var calls: [String] = []
    private(set) var violations: [SectionOracle<String, Contact>.Violation] = []
    var isInWindow = true

    func reloadSections() {
        calls.append("reload")
        oracle = SectionOracle(sections: dataSource())
    }

    func performBatch(_ changes: SectionChanges, takeSections: @escaping () -> Void) {
        calls.append("batch")
        takeSections()
        check { () throws(SectionOracle<String, Contact>.Violation) in
            try oracle.batch(changes, sections: dataSource())
        }
    }

    func updateRows(_ paths: [RowPath]) {
        calls.append("update")
        check { () throws(SectionOracle<String, Contact>.Violation) in
            try oracle.update(paths, sections: dataSource())
        }
    }

    private func check(_ body: () throws(SectionOracle<String, Contact>.Violation) -> Void) {
        do throws(SectionOracle<String, Contact>.Violation) {
            try body()
        } catch {
            violations.append(error)
        }
    }
}
