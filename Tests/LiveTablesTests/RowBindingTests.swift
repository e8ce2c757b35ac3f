import FanfareTesting
import LiveCollections
import LiveRows
import LiveTables
import TestRandom
import Testing

@Suite("Lists in a table view") @MainActor struct RowBindingTests {
    private let table = StubTable()

    private func bind(_ count: Int) throws -> (LiveList<Contact>, RowBinding<Contact>) {
        let list = try LiveList(rows: (0..<count).map { Contact(id: $0, name: "#\($0)") })
        // The view's data source may be called while the binding is being created.
        var binding: RowBinding<Contact>?
        table.dataSource = { binding?.rows ?? list.rows }
        let made = RowBinding(list, to: table)
        binding = made
        return (list, made)
    }

    @Test("The table shows the list, then each edit as a batch and updates after it")
    func batches() throws {
        let (list, binding) = try bind(6)
        #expect(table.calls == ["reload"])
        list.edit { editor in
            for id in 6..<9 { editor.append(Contact(id: id, name: "film")) }
            editor.removeFirst(3)
        }
        #expect(table.calls == ["reload", "batch"])
        list.edit { $0.update(5) { $0.name = "five" } }
        #expect(table.calls == ["reload", "batch", "update"])
        #expect(table.violations.isEmpty)
        #expect(table.oracle.cells == Array(binding.rows))
        #expect(table.oracle.cellsMade == 6 + 3 + 1, "only new and changed rows request cells")
    }

    @Test("A paused view is not changed; resuming shows the difference")
    func pauses() throws {
        let (list, binding) = try bind(4)
        binding.pause()
        list.edit { $0.move(0, after: 3) }
        list.edit { $0.remove(1) }
        #expect(table.calls == ["reload"])
        #expect(binding.rows.count == 4)
        binding.resume()
        #expect(table.calls == ["reload", "batch"])
        list.edit { $0.remove(2) }
        #expect(table.oracle.cells.map(\.id) == [3, 0])
        #expect(table.violations.isEmpty)
    }

    @Test("Too many changes for an animation reload the view")
    func reloads() throws {
        let (list, binding) = try bind(1500)
        list.edit { $0.removeFirst(animatedChangesMax) }
        #expect(table.calls == ["reload", "batch"])
        binding.pause()
        list.edit { $0.removeFirst(500) }
        list.edit { editor in
            for id in 2000..<2900 { editor.append(Contact(id: id, name: "x")) }
        }
        binding.resume()
        #expect(table.calls == ["reload", "batch", "reload"])
        #expect(table.oracle.cells == Array(list.rows))
    }

    @Test("A view outside of a window is reloaded, and changed in batches when it is back")
    func window() throws {
        let (list, _) = try bind(4)
        table.isInWindow = false
        list.edit { $0.move(0, after: 3) }
        list.edit { $0.update(1) { $0.name = "one" } }
        #expect(table.calls == ["reload", "reload", "reload"])
        table.isInWindow = true
        list.edit { $0.remove(2) }
        #expect(table.calls.last == "batch")
        #expect(table.violations.isEmpty)
        #expect(table.oracle.cells == Array(list.rows))
    }

    @Test("A released binding does not change the view")
    func lifetime() throws {
        let list = try LiveList(rows: [Contact(id: 1, name: "a")])
        table.dataSource = { list.rows }
        var binding: RowBinding? = RowBinding(list, to: table)
        #expect(binding != nil)
        binding = nil
        list.edit { $0.remove(1) }
        #expect(table.oracle.cells.count == 1)
    }

    @Test("Random edits and pauses satisfy the table's rules")
    func random() throws {
        for seed in 0..<40 {
            var random = SeededRandom(seed: UInt64(seed))
            let table = StubTable()
            let list = try LiveList(rows: (0..<seed).map { Contact(id: $0, name: "#\($0)") })
            var bound: RowBinding<Contact>?
            table.dataSource = { bound?.rows ?? list.rows }
            let binding = RowBinding(list, to: table)
            bound = binding
            for step in 0..<40 {
                if Int.random(in: 0..<6, using: &random) == 0 { binding.pause() }
                if Int.random(in: 0..<4, using: &random) == 0 { binding.resume() }
                list.edit { editor in
                    let place = Int.random(in: 0...max(editor.rows.count, 1), using: &random)
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: editor.remove(at: place)
                    case 1: editor.insert(Contact(id: 100 + step, name: "new"), at: place)
                    case 2: editor.move(from: place, to: 0)
                    default:
                        guard place < editor.rows.count else { return }
                        editor.update(editor.rows[place].id) { $0.name += "'" }
                    }
                }
            }
            binding.resume()
            #expect(table.violations.isEmpty, "seed \(seed)")
            #expect(table.oracle.cells == Array(list.rows), "seed \(seed)")
            #expect(!table.calls.contains("the data changed before the batch"))
        }
    }
}
