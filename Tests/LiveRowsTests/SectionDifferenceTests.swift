import FanfareTesting
import LiveRows
import TestRandom
import Testing

@Suite("Section changes") struct SectionDifferenceTests {
    typealias Section = RowSection<String, Person>

    @Test("Rows are grouped into sections by a key")
    func builder() {
        let rows = [Person(1, "Bo"), Person(2, "Al"), Person(3, "Bea")]
        let expected = [
            Section(id: "A", rows: [rows[1]]), Section(id: "B", rows: [rows[0], rows[2]]),
        ]
        #expect(sections(of: rows) { String($0.name.prefix(1)) } == expected)
        let reversed = sections(of: rows, by: { String($0.name.prefix(1)) }, sortedBy: >)
        #expect(reversed == expected.reversed())
    }

    @Test("A renamed row moves to another section and is updated there")
    func rowBetweenSections() throws {
        let old = [
            Section(id: "A", rows: [Person(1, "Ann"), Person(2, "Axel")]),
            Section(id: "B", rows: [Person(3, "Bo")]),
        ]
        let new = [
            Section(id: "A", rows: [Person(1, "Ann")]),
            Section(id: "B", rows: [Person(2, "Bert"), Person(3, "Bo")]),
        ]
        let changes = try sectionChanges(from: old, to: new)
        let move = SectionChanges.Move(
            from: RowPath(section: 0, row: 1),
            to: RowPath(section: 1, row: 0)
        )
        #expect(
            changes
                == SectionChanges(moves: [move], updates: [RowPath(section: 1, row: 0)])
        )
    }

    @Test(
        "Rows of an inserted or deleted section are not listed; rows that move to one are deleted"
    )
    func sectionsComeAndGo() throws {
        let old = [
            Section(id: "A", rows: [Person(1), Person(2)]), Section(id: "B", rows: [Person(3)]),
        ]
        let new = [
            Section(id: "A", rows: [Person(1), Person(3)]), Section(id: "C", rows: [Person(2)]),
        ]
        let changes = try sectionChanges(from: old, to: new)
        #expect(changes.sections == RowChanges(deletes: [1], inserts: [1]))
        #expect(changes.deletes == [RowPath(section: 0, row: 1)])
        #expect(changes.inserts == [RowPath(section: 0, row: 1)])
        #expect(changes.moves.isEmpty)
        #expect(try sectionChanges(from: old, to: old).isEmpty)
    }

    @Test("Duplicates are reported with both positions")
    func duplicates() {
        let row = [
            Section(id: "A", rows: [Person(1)]), Section(id: "B", rows: [Person(2), Person(1)]),
        ]
        let expected = DuplicateInSections.row(
            id: "1",
            first: RowPath(section: 0, row: 0),
            second: RowPath(section: 1, row: 1)
        )
        #expect(throws: expected) { try sectionChanges(from: [], to: row) }
        #expect(throws: expected) { try sectionChanges(from: row, to: row) }
        let section = [Section(id: "A", rows: []), Section(id: "A", rows: [])]
        let duplicate = DuplicateInSections.section(DuplicateRow(id: "A", first: 0, second: 1))
        #expect(throws: duplicate) { try sectionChanges(from: section, to: []) }
        #expect(duplicate.description.contains("sections 0 and 1"))
        #expect(expected.description.contains("row 1 of section 1"))
    }

    @Test("Random tables with sections satisfy the table's rules")
    func random() throws {
        for seed in 0..<3000 {
            var random = SeededRandom(seed: UInt64(seed))
            let people = random.people(atMost: 30)
            let old = table(of: people, &random)
            let new = table(of: random.change(people), &random)
            let changes = try sectionChanges(from: old, to: new)
            var oracle = SectionOracle(sections: old)
            do {
                try oracle.apply(changes, sections: new)
                #expect(oracle.sections == new)
            } catch {
                Issue.record("seed \(seed): \(error)\n\(old)\n\(new)\n\(changes)")
            }
        }
    }

    @Test("Rows change within the sections that the batch of sections leaves")
    func sectionsThenRows() throws {
        let old = [
            Section(id: "A", rows: [Person(1), Person(2)]), Section(id: "B", rows: [Person(3)]),
            Section(id: "C", rows: [Person(4)]),
        ]
        let new = [
            Section(id: "D", rows: [Person(2)]), Section(id: "C", rows: [Person(1), Person(4)]),
            Section(id: "A", rows: []),
        ]
        let changes = try sectionChanges(from: old, to: new)
        #expect(changes.sections.deletes == [1])
        #expect(changes.sections.inserts == [0])
        #expect(changes.sections.moves.count == 1)
        #expect(changes.deletes == [RowPath(section: 2, row: 1)])
        let move = SectionChanges.Move(
            from: RowPath(section: 2, row: 0),
            to: RowPath(section: 1, row: 0)
        )
        #expect(changes.moves == [move])
        let between = sectionsBetweenBatches(from: old, to: new)
        #expect(between == [new[0], old[2], old[0]])
    }

    /// Returns sections by the remainder of the id, in random order; sometimes one is missing.
    private func table(of people: [Person], _ random: inout SeededRandom) -> [Section] {
        let sorted = sections(of: people) { "\($0.id % 3)\($0.name.last == "'" ? "'" : "")" }
        return sorted.shuffled(using: &random)
    }
}
