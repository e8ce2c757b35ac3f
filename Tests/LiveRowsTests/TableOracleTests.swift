import FanfareTesting
import LiveRows
import Testing

@Suite("The table oracle") struct TableOracleTests {
    private let six = (0..<6).map { Person($0) }

    @Test("A valid batch is performed in any order of its calls")
    func anyOrder() throws {
        let after = Array(six[3...]) + (6..<9).map { Person($0) }
        let calls: [TableOracleCall] = [
            .insert(5), .delete(1), .insert(3), .delete(0), .insert(4), .delete(2),
        ]
        var table = TableOracle(rows: six)
        try table.batch(calls, rows: after)
        #expect(table.cells == after)
        #expect(table.cellsMade == 6 + 3, "only new rows ask for cells")
    }

    static let violations: [([TableOracleCall], TableViolation)] = [
        ([.delete(6)], .noSuchRow(call: .delete(6), count: 6)),
        ([.delete(-1)], .noSuchRow(call: .delete(-1), count: 6)),
        ([.insert(6), .delete(0)], .noSuchRow(call: .insert(6), count: 6)),
        ([.delete(2), .delete(2)], .namedTwice(old: 2)),
        ([.delete(2), .move(from: 2, to: 0)], .deletedAndMoved(old: 2)),
        ([.move(from: 2, to: 0), .reload(2)], .reloadedAndMoved(old: 2)),
        ([.move(from: 2, to: 0), .insert(0)], .filledTwice(new: 0)),
        ([.delete(2)], .countMismatch(before: 6, inserted: 0, deleted: 1, after: 6)),
        ([.insert(2)], .countMismatch(before: 6, inserted: 1, deleted: 0, after: 6)),
        ([.move(from: 2, to: 0)], .wrongRow(new: 0, shown: "#2", expected: "#0")),
        ([.delete(0), .insert(5)], .wrongRow(new: 0, shown: "#1", expected: "#0")),
    ]

    @Test("A batch that violates a rule is refused with the rule", arguments: violations)
    func refusal(calls: [TableOracleCall], violation: TableViolation) {
        var table = TableOracle(rows: six)
        #expect(throws: violation) { try table.batch(calls, rows: six) }
        #expect(table.cells == six)
        #expect(violation.description.count > 20)
    }

    @Test("A changed row without an update is detected, and so is an update of no row")
    func contents() {
        var changed = six
        changed[4].name = "four"
        var table = TableOracle(rows: six)
        #expect(throws: TableViolation.staleRow(new: 4, shown: "#4", expected: "four")) {
            try table.apply(RowChanges(), rows: changed)
        }
        #expect(throws: TableViolation.wrongUpdate(new: 6, count: 6)) {
            try table.apply(RowChanges(updates: [6]), rows: changed)
        }
        #expect(throws: TableViolation.wrongUpdate(new: 4, count: 6)) {
            try table.apply(RowChanges(updates: [4, 4]), rows: changed)
        }
        #expect(throws: Never.self) {
            try table.apply(RowChanges(updates: [4]), rows: changed)
        }
    }

    @Test("A reload requests a new cell; changes for later rows are refused")
    func reload() throws {
        var changed = six
        changed[4].name = "four"
        var table = TableOracle(rows: six)
        try table.batch([.reload(4)], rows: changed)
        #expect(table.cells == changed)
        let changes = try rowChanges(from: changed, to: Array(changed.dropLast()))
        #expect(throws: TableViolation.self) { try table.apply(changes, rows: changed.dropLast(2)) }
        table.reload(six)
        #expect(table.cells == six)
    }

    @Test("The description of a violation contains the numbers")
    func sentences() {
        let mismatch = TableViolation.countMismatch(before: 6, inserted: 3, deleted: 3, after: 9)
        #expect(
            mismatch.description
                == "the number of rows after the batch (9) must be the number before it (6) plus the 3 inserted minus the 3 deleted: 6"
        )
    }
}
