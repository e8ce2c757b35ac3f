import FanfareTesting
import LiveRows
import TestRandom
import Testing

@Suite("Row changes") struct RowDifferenceTests {
    @Test(
        "The film list: three rows are deleted at the front and three inserted at the end, in one batch"
    )
    func filmList() throws {
        let old = (0..<6).map { Person($0) }
        let new = old.dropFirst(3) + (6..<9).map { Person($0) }
        let changes = try rowChanges(from: old, to: Array(new))
        #expect(changes == RowChanges(deletes: [0, 1, 2], inserts: [3, 4, 5]))
    }

    @Test("Equal lists have no changes")
    func identical() throws {
        let people = (0..<5).map { Person($0) }
        #expect(try rowChanges(from: people, to: people).isEmpty)
        #expect(try rowChanges(from: [Person](), to: []).isEmpty)
    }

    @Test(
        "To drag the first row to the end, or the last to the front, is one move",
        arguments: [2, 3, 40, 1000]
    )
    func oneMove(count: Int) throws {
        let people = (0..<count).map { Person($0) }
        let down = Array(people.dropFirst()) + [people[0]]
        let up = [people[count - 1]] + people.dropLast()
        #expect(try rowChanges(from: people, to: down).operationCount == 1)
        #expect(try rowChanges(from: people, to: up).operationCount == 1)
        let move = RowChanges.Move(from: count - 1, to: 0)
        if count > 2 { #expect(try rowChanges(from: people, to: up).moves == [move]) }
    }

    @Test("A row that moves and changes is moved, then updated at its new index")
    func movedAndChanged() throws {
        let old = [Person(1), Person(2), Person(3), Person(4)]
        let new = [Person(4, "four"), Person(1), Person(2, "two"), Person(3)]
        #expect(
            try rowChanges(from: old, to: new)
                == RowChanges(moves: [RowChanges.Move(from: 3, to: 0)], updates: [0, 2])
        )
    }

    @Test(
        "Five thousand random pairs of lists pass the table's rules with as few moves as possible"
    )
    func random() throws {
        for seed in 0..<5000 {
            var random = SeededRandom(seed: UInt64(seed))
            let old = random.people(atMost: seed % 40 + 1)
            let new = seed % 10 == 0 ? random.people(atMost: 30) : random.change(old)
            try check(old, new, seed)
        }
    }

    @Test("Long lists with distant moves satisfy the table's rules with as few moves as possible")
    func randomLong() throws {
        for seed in 0..<30 {
            var random = SeededRandom(seed: UInt64(seed))
            let old = (0..<400).map { Person($0) }
            var new = random.change(old)
            if seed % 3 == 0 { new.shuffle(using: &random) }
            if seed % 3 == 1 { new.reverse() }
            try check(old, new, seed)
        }
    }

    private func check(_ old: [Person], _ new: [Person], _ seed: Int) throws {
        let changes = try rowChanges(from: old, to: new)
        var table = TableOracle(rows: old)
        do {
            try table.apply(changes, rows: new)
        } catch {
            Issue.record("seed \(seed): \(error)\n\(old)\n\(new)\n\(changes)")
        }
        #expect(table.cellsMade == old.count + changes.inserts.count + changes.updates.count)
        // The standard library's difference by id has the same insertions and deletions.
        let ids = (Set(old.map(\.id)), Set(new.map(\.id)))
        let difference = new.map(\.id).difference(from: old.map(\.id)).inferringMoves()
        let removed = difference.removals.count {
            if case .remove(_, _, nil) = $0 { true } else { false }
        }
        #expect(changes.deletes.count == removed, "seed \(seed)")
        let gone = ids.0.subtracting(ids.1)
        #expect(Set(changes.deletes.map { old[$0].id }) == gone, "seed \(seed)")
        let stayed = old.map(\.id).filter { ids.1.contains($0) }
        let order = Dictionary(uniqueKeysWithValues: zip(stayed, stayed.indices))
        let kept = longestByBruteForce(new.compactMap { order[$0.id] })
        #expect(changes.moves.count == stayed.count - kept, "seed \(seed)")
    }

    /// The length of a longest increasing subsequence, by comparing each number with all before.
    private func longestByBruteForce(_ numbers: [Int]) -> Int {
        var lengths: [Int] = []
        for (index, number) in numbers.enumerated() {
            let before = lengths.indices.filter { numbers[$0] < number }.map { lengths[$0] }
            lengths.insert((before.max() ?? 0) + 1, at: index)
        }
        return lengths.max() ?? 0
    }
}

@Suite("Duplicate rows") struct DuplicateRowTests {
    @Test("A duplicate among inserted, deleted or moved rows is reported with both indices")
    func reported() {
        let rows = [Person(1), Person(2), Person(3)]
        let twice = [Person(4), Person(9, "a"), Person(5), Person(9, "b")]
        #expect(throws: DuplicateRow(id: "9", first: 1, second: 3)) {
            try rowChanges(from: rows, to: twice)
        }
        #expect(throws: DuplicateRow(id: "9", first: 1, second: 3)) {
            try rowChanges(from: twice, to: rows)
        }
        #expect(throws: DuplicateRow(id: "7", first: 0, second: 1)) {
            try rowChanges(from: [], to: [Person(7), Person(7)])
        }
    }

    @Test("The message contains the rows and the remedy")
    func message() {
        let duplicate = duplicateRow(in: [Person(1), Person(2), Person(1)])
        #expect(
            duplicate?.description
                == "rows 0 and 2 have the same id 1; give each row its own id"
        )
        #expect(duplicateRow(in: [Person(1), Person(2)]) == nil)
    }

    @Test("Duplicates never trap, and returned changes satisfy the table's rules")
    func neverTraps() {
        for seed in 0..<5000 {
            var random = SeededRandom(seed: UInt64(seed))
            let count = Int.random(in: 0...9, using: &random)
            func rows() -> [Person] {
                (0..<count).map { _ in Person(Int.random(in: 0..<7, using: &random)) }
            }
            let (old, new) = (rows(), rows())
            guard let changes = try? rowChanges(from: old, to: new) else { continue }
            var table = TableOracle(rows: old)
            #expect(throws: Never.self, "seed \(seed): \(old) \(new) \(changes)") {
                try table.apply(changes, rows: new)
            }
        }
    }
}
