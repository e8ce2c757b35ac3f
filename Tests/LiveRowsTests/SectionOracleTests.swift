import FanfareTesting
import LiveRows
import Testing

@Suite("The table oracle with sections") struct SectionOracleTests {
    typealias Section = RowSection<String, Person>
    typealias Violation = SectionOracle<String, Person>.Violation

    private let old = [Section(id: "A", rows: [Person(1)]), Section(id: "B", rows: [Person(2)])]
    private let path = RowPath(section: 0, row: 0)

    @Test("A batch of sections and rows is refused; one after the other they are performed")
    func sectionsAndRows() throws {
        let new = [
            Section(id: "B", rows: []), Section(id: "A", rows: [Person(1), Person(2)]),
        ]
        let changes = try sectionChanges(from: old, to: new)
        #expect(changes.sections.moves.count == 1)
        #expect(changes.moves.count == 1)
        var oracle = SectionOracle(sections: old)
        #expect(throws: Violation.sectionsAndRows) { try oracle.batch(changes, sections: new) }
        #expect(oracle.sections == old)
        #expect(Violation.sectionsAndRows.description.contains("as one batch"))

        try oracle.batch(
            SectionChanges(sections: changes.sections),
            sections: [old[1], old[0]]
        )
        #expect(oracle.sections == [old[1], old[0]])
        try oracle.batch(SectionChanges(moves: changes.moves), sections: new)
        #expect(oracle.sections == new)
    }

    @Test("Rows that change within a batch of sections are refused")
    func rowsOfSections() {
        let batch = SectionChanges(sections: RowChanges(deletes: [0]))
        var oracle = SectionOracle(sections: old)
        let mismatch = TableViolation.countMismatch(before: 1, inserted: 0, deleted: 0, after: 0)
        #expect(throws: Violation.rows(section: 0, mismatch)) {
            try oracle.batch(batch, sections: [Section(id: "B", rows: [])])
        }
        #expect(throws: Violation.self) {
            try oracle.batch(SectionChanges(), sections: [old[1], old[0]])
        }
        #expect(oracle.sections == old)
    }

    @Test("Rows that do not exist, are named twice or do not add up are refused")
    func rows() {
        let table = SectionOracle(sections: old)
        let nowhere = RowPath(section: 2, row: 0)
        let mismatch = TableViolation.countMismatch(before: 1, inserted: 0, deleted: 1, after: 1)
        let wrong = TableViolation.wrongRow(new: 0, shown: "#2", expected: "#1")
        let swapped = [
            SectionChanges.Move(from: RowPath(section: 1, row: 0), to: path),
            SectionChanges.Move(from: path, to: RowPath(section: 1, row: 0)),
        ]
        let refusals: [(SectionChanges, Violation)] = [
            (SectionChanges(deletes: [nowhere]), .noSuchRow(nowhere)),
            (SectionChanges(inserts: [nowhere]), .noSuchRow(nowhere)),
            (SectionChanges(updates: [nowhere]), .noSuchRow(nowhere)),
            (SectionChanges(deletes: [path, path]), .namedTwice(path)),
            (SectionChanges(deletes: [path]), .rows(section: 0, mismatch)),
            (SectionChanges(moves: swapped), .rows(section: 0, wrong)),
        ]
        for (changes, violation) in refusals {
            var oracle = table
            #expect(throws: violation) { try oracle.apply(changes, sections: old) }
            #expect(oracle.sections == old)
        }
    }

    @Test("A changed row without an update is detected")
    func stale() throws {
        var new = old
        new[1].rows[0].name = "two"
        var oracle = SectionOracle(sections: old)
        let violation = TableViolation.staleRow(new: 0, shown: "#2", expected: "two")
        #expect(throws: Violation.rows(section: 1, violation)) {
            try oracle.apply(SectionChanges(), sections: new)
        }
        try oracle.apply(sectionChanges(from: old, to: new), sections: new)
        #expect(oracle.sections == new)
    }
}
