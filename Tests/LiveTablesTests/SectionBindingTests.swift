import FanfareTesting
import LiveCollections
import LiveRows
import LiveTables
import TestRandom
import Testing

@Suite("Lists in a table view with sections") @MainActor struct SectionBindingTests {
    private let table = StubSections()

    /// Binds contacts with these names to the table, by their initials.
    private func bind(
        _ names: [String]
    ) throws -> (LiveList<Contact>, SectionBinding<String, Contact>) {
        let list = try LiveList(
            rows: names.enumerated().map { Contact(id: $0.offset, name: $0.element) }
        )
        let build = { (rows: RowList<Contact>) in
            sections(of: rows.sorted { $0.name < $1.name }) { String($0.name.prefix(1)) }
        }
        var bound: SectionBinding<String, Contact>?
        table.dataSource = { bound?.sections ?? build(list.rows) }
        let binding = SectionBinding(list, to: table, build: build)
        bound = binding
        return (list, binding)
    }

    @Test("Rows are shown in sections by a key, and move between them")
    func contacts() throws {
        let (list, binding) = try bind(["Ann", "Axel", "Bo", "Cleo"])
        #expect(binding.sections.map(\.id) == ["A", "B", "C"])
        list.edit { $0.update(1) { $0.name = "Ben" } }
        list.edit { editor in
            editor.remove(3)
            editor.append(Contact(id: 9, name: "Dora"))
            editor.update(2) { $0.name = "Bob" }
        }
        #expect(table.violations == [])
        #expect(table.calls == ["reload", "batch", "update", "batch", "update"])
        #expect(table.oracle.sections == binding.sections)
        #expect(binding.sections.map(\.id) == ["A", "B", "D"])
        #expect(binding.sections[1].rows.map(\.name) == ["Ben", "Bob"])
    }

    @Test("Sections and rows that change together are two batches")
    func sectionsAndRows() throws {
        let (list, binding) = try bind(["Ann", "Axel", "Bo"])
        list.edit { editor in
            editor.update(0) { $0.name = "Bea" }
            editor.append(Contact(id: 9, name: "Dora"))
        }
        #expect(table.violations == [])
        #expect(table.calls == ["reload", "batch", "batch", "update"])
        #expect(table.oracle.sections == binding.sections)
    }

    @Test("A view outside of a window is reloaded, and changed in batches when it is back")
    func window() throws {
        let (list, binding) = try bind(["Ann", "Bo"])
        table.isInWindow = false
        list.edit { $0.update(1) { $0.name = "Cleo" } }
        #expect(table.calls == ["reload", "reload"])
        table.isInWindow = true
        list.edit { $0.remove(0) }
        #expect(table.calls == ["reload", "reload", "batch"])
        #expect(table.violations == [])
        #expect(table.oracle.sections == binding.sections)
    }

    @Test("Random edits satisfy the table's rules")
    func random() throws {
        for seed in 0..<40 {
            var random = SeededRandom(seed: UInt64(seed))
            let letters = ["A", "B", "C", "D"]
            let table = StubSections()
            let list = try LiveList(rows: [Contact(id: 0, name: "A0")])
            var order = letters
            let build = { (rows: RowList<Contact>) in
                sections(
                    of: rows,
                    by: { String($0.name.prefix(1)) },
                    sortedBy: { order.firstIndex(of: $0) ?? 0 < order.firstIndex(of: $1) ?? 0 }
                )
            }
            var bound: SectionBinding<String, Contact>?
            table.dataSource = { bound?.sections ?? build(list.rows) }
            let binding = SectionBinding(list, to: table, build: build)
            bound = binding
            for step in 1...40 {
                if Int.random(in: 0..<4, using: &random) == 0 { order.shuffle(using: &random) }
                let name = "\(letters.randomElement(using: &random) ?? "A")\(step)"
                list.edit { editor in
                    for _ in 0..<3 {
                        let place = Int.random(in: 0...editor.rows.count, using: &random)
                        switch Int.random(in: 0..<4, using: &random) {
                        case 0: editor.remove(at: place)
                        case 1: editor.insert(Contact(id: 100 + step, name: name), at: place)
                        case 2: editor.move(from: place, to: 0)
                        default:
                            guard place < editor.rows.count else { continue }
                            editor.update(editor.rows[place].id) { $0.name = name }
                        }
                    }
                }
                #expect(table.violations == [], "seed \(seed)")
                #expect(table.oracle.sections == binding.sections, "seed \(seed)")
            }
        }
    }
}
