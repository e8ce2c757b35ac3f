import FanfareClient
import LiveCollections
import LiveRows
import Testing

@Suite("Lists without a network") @MainActor struct LocalSourceTests {
    @Test("The rows are available immediately, and an edit is confirmed by the source's writer")
    func local() async throws {
        let list = try LiveList(rows: [Player(1), Player(2)])
        #expect(list.rows.count == 2)
        #expect(list.state.isLive)
        try await list.edit { $0.append(Player(3)) }.confirmed()
        try await until { list.pendingEditCount == 0 }
        #expect(list.rows.map(\.id) == [1, 2, 3])
    }

    @Test("Two lists of one source show each other's edits, and changes of the source")
    func shared() async throws {
        let source = try LocalSource([Player(1)])
        let (one, two) = (LiveList(source), LiveList(source))
        one.edit { $0.append(Player(2)) }
        two.edit { $0.append(Player(3)) }
        source.apply([.put(Player(4), after: nil)])
        try await until { one.rows.count == 4 && two.rows.count == 4 }
        try await until { one.pendingEditCount + two.pendingEditCount == 0 }
        #expect(one.rows == two.rows)
        #expect(Array(one.rows) == source.rows)
    }

    private struct Errand: Codable, Identifiable, Equatable {
        var id = 1
        var title = "Milk"
        var isDone = false
    }

    @Test("Two edits of one row at the same time: members that one sets stay, a whole row replaces")
    func fields() async throws {
        for isWhole in [false, true] {
            let source = try LocalSource([Errand()])
            let (one, two) = (LiveList(source), LiveList(source))
            one.edit { $0.update(1) { $0.title = "Oat milk" } }
            two.edit { editor in
                if isWhole {
                    editor.update(Errand(isDone: true))
                } else {
                    editor.update(1) { $0.isDone = true }
                }
            }
            try await until { one.pendingEditCount + two.pendingEditCount == 0 }
            try await until { one.revision == 2 && two.revision == 2 }
            #expect(source.rows == [Errand(title: isWhole ? "Milk" : "Oat milk", isDone: true)])
            #expect(Array(one.rows) == source.rows && Array(two.rows) == source.rows)
        }
    }

    @Test("Of two edits of one member, the last in the writer's order decides")
    func conflicts() async throws {
        let source = try LocalSource([Errand()])
        let (one, two) = (LiveList(source), LiveList(source))
        try await one.edit { $0.update(1) { $0.title = "Oat milk" } }.confirmed()
        try await two.edit { $0.update(1) { $0.title = "Soy milk" } }.confirmed()
        try await until { one.revision == 2 && two.revision == 2 }
        #expect(source.rows == [Errand(title: "Soy milk")])
        #expect(Array(one.rows) == source.rows && Array(two.rows) == source.rows)
    }

    @Test("Rows with the same id are refused")
    func duplicates() {
        #expect(throws: DuplicateRow.self) { try LiveList(rows: [Player(1), Player(1)]) }
    }

    @Test(
        "A document is a list of one, and an edit of an old state is refused if that is asked for"
    )
    func document() async throws {
        let source = try LocalSource([Player(1, "Ann")])
        let document = LiveDocument(source)
        var names: [String?] = []
        let observation = document.observe { value, _ in names.append(value?.name) }
        let edit = document.edit { $0.name = "Bea" }
        #expect(document.value?.name == "Bea")
        try await edit.confirmed()
        try await until { document.list.revision == 1 }
        let late = document.edit(ifUnchanged: true) { $0.name = "Cleo" }
        source.apply([.update(Player(1, "Dora"))])
        await #expect(throws: LiveListError.self) { try await late.confirmed() }
        try await until { document.value?.name == "Dora" }
        source.apply([.remove(1)])
        try await until { document.value == nil }
        #expect(names.first == "Ann")
        #expect(names.last == .some(nil))
        observation.cancel()
    }
}
