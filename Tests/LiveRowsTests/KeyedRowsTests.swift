import FanfareTesting
import LiveRows
import TestRandom
import Testing

@Suite("Rows found by their ids") struct KeyedRowsTests {
    @Test("Each operation returns its changes, without a comparison")
    func effects() throws {
        var rows = try KeyedRows([Person(1), Person(2), Person(3)])
        #expect(rows.apply(.put(Person(4), after: 1)).changes == RowChanges(inserts: [1]))
        #expect(rows.list.map(\.id) == [1, 4, 2, 3])
        #expect(
            rows.apply(.move(1, after: 3)).changes
                == RowChanges(moves: [RowChanges.Move(from: 0, to: 3)])
        )
        #expect(rows.list.map(\.id) == [4, 2, 3, 1])
        #expect(rows.apply(.move(1, after: nil)).changes.moves == [RowChanges.Move(from: 3, to: 0)])
        #expect(rows.apply(.update(Person(2, "two"))).changes == RowChanges(updates: [2]))
        #expect(rows.apply(.remove(4)).changes == RowChanges(deletes: [1]))
        let put = rows.apply(.put(Person(1, "one"), after: 3)).changes
        #expect(put == RowChanges(moves: [RowChanges.Move(from: 0, to: 2)], updates: [2]))
        #expect(rows.list == [Person(2, "two"), Person(3), Person(1, "one")])
        #expect(rows[2] == Person(2, "two"))
        #expect(rows.index(of: 1) == 2)
        #expect(rows.index(of: 9) == nil)
    }

    @Test("With an unknown anchor a put appends, and a move has no effect")
    func unknownAnchors() throws {
        var rows = try KeyedRows([Person(1), Person(2)])
        #expect(rows.apply(.put(Person(3), after: 99)).changes == RowChanges(inserts: [2]))
        #expect(rows.apply(.move(1, after: 99)).inverse == nil)
        #expect(rows.apply(.move(1, after: 1)).changes.isEmpty)
        #expect(
            rows.apply(.put(Person(1, "one"), after: 1)).changes == RowChanges(updates: [0])
        )
        #expect(rows.list.map(\.id) == [1, 2, 3])
    }

    @Test("An operation on a row that does not exist has no effect")
    func unknownRows() throws {
        var rows = try KeyedRows([Person(1)])
        for operation: ListOperation<Person> in [
            .remove(9), .update(Person(9)), .move(9, after: nil), .update(Person(1)),
        ] {
            let effect = rows.apply(operation)
            #expect(effect.changes.isEmpty)
            #expect(effect.inverse == nil)
        }
    }

    @Test("A duplicate is reported with both indices")
    func duplicates() {
        #expect(throws: DuplicateRow(id: "2", first: 1, second: 3)) {
            try KeyedRows([Person(1), Person(2), Person(3), Person(2)])
        }
    }

    @Test(
        "Random operations match a plain array, satisfy the table's rules, and can be reverted"
    )
    func random() throws {
        for seed in 0..<24 {
            var random = SeededRandom(seed: UInt64(seed))
            var plain = (0..<[0, 5, 130, 700][seed % 4]).map { Person($0) }
            var rows = try KeyedRows(plain)
            var table = TableOracle(rows: plain)
            var inverses: [ListOperation<Person>] = []
            let first = plain
            for _ in 0..<300 {
                let operation = random.operation(on: plain)
                let effect = rows.apply(operation)
                apply(operation, to: &plain)
                try table.apply(effect.changes, rows: rows.list)
                #expect(effect.changes.isEmpty == (effect.inverse == nil), "\(operation)")
                if let inverse = effect.inverse { inverses.append(inverse) }
            }
            #expect(Array(rows.list) == plain, "seed \(seed)")
            for (index, row) in plain.enumerated() { #expect(rows.index(of: row.id) == index) }
            for inverse in inverses.reversed() { rows.apply(inverse) }
            #expect(Array(rows.list) == first, "seed \(seed)")
        }
    }

    @Test("A copy of the list stays unchanged, and is compared piece by piece")
    func shared() throws {
        for seed in 0..<120 {
            var random = SeededRandom(seed: UInt64(seed))
            var rows = try KeyedRows((0..<(seed * 3)).map { Person($0) })
            let before = rows.list
            let plain = Array(before)
            for _ in 0..<(seed % 40) { rows.apply(random.operation(on: Array(rows.list))) }
            #expect(Array(before) == plain)
            let changes = try rowChanges(from: before, to: rows.list)
            let whole = try rowChanges(from: plain, to: Array(rows.list))
            var table = TableOracle(rows: before)
            try table.apply(changes, rows: rows.list)
            #expect(
                changes.moves.count == whole.moves.count,
                "seed \(seed): no more moves than needed"
            )
            #expect(changes.deletes == whole.deletes)
            #expect(changes.inserts == whole.inserts)
            #expect(changes.updates == whole.updates)
        }
    }

    @Test("A list of rows is a collection like any other")
    func collection() {
        let list = RowList((0..<1000).map { Person($0) })
        #expect(list.count == 1000)
        #expect(list.indices.allSatisfy { list[$0].id == $0 })
        #expect(list.map(\.id) == Array(0..<1000))
        #expect(list[500...].first?.id == 500)
        #expect(RowList<Person>().first == nil)
        #expect(RowList([Person(1)]) == [Person(1)])
        #expect("\(RowList([Person(1)]))" == "[#1]")
    }

    /// Applies the operation to an array, according to its documentation.
    private func apply(_ operation: ListOperation<Person>, to rows: inout [Person]) {
        let place = rows.firstIndex { $0.id == operation.id }
        switch operation {
        case .remove: if let place { rows.remove(at: place) }
        case .update(let row), .set(let row, _): if let place { rows[place] = row }
        case .move(_, let anchor):
            guard let place, anchor != operation.id else { return }
            guard anchor == nil || rows.contains(where: { $0.id == anchor }) else { return }
            let row = rows.remove(at: place)
            let target = anchor == nil ? 0 : (rows.firstIndex { $0.id == anchor } ?? 0) + 1
            rows.insert(row, at: target)
        case .put(let row, let anchor):
            if let place, anchor == operation.id {
                rows[place] = row
                return
            }
            if let place { rows.remove(at: place) }
            let behind = rows.firstIndex { $0.id == anchor }.map { $0 + 1 }
            rows.insert(row, at: anchor == nil ? 0 : behind ?? rows.count)
        }
    }
}
