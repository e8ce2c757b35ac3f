import Foundation
import GRDB
import Testing

@testable import demo_terminal

@Suite("The local copy of the to-dos") struct LocalToDosTests {
    private let local: LocalToDos
    private let bread = LocalToDo(id: 1, title: "Bread", due: "2026-01-02", isDone: false)
    private let milk = LocalToDo(id: 2, title: "Milk", due: "2026-01-01", isDone: false)

    init() throws {
        local = try LocalToDos(path: nil)
        try local.replace(with: [bread, milk])
    }

    private var titles: [String] {
        get throws { try local.database.read(LocalToDos.open).map(\.title) }
    }

    @Test func theQueryReturnsOpenToDosByDate() throws {
        #expect(try titles == ["Milk", "Bread"])
        try local.edit(.complete(2))
        #expect(try titles == ["Bread"])
    }

    @Test func anEditIsAppliedAndQueued() throws {
        try local.edit(.rename(1, "Cake"))
        try local.edit(.remove(2))
        #expect(try titles == ["Cake"])
        let edits = try local.queuedEdits()
        #expect(edits.map(\.operation) == [.rename(1, "Cake"), .remove(2)])
        #expect(Set(edits.map(\.mutation)).count == 2)
        try local.remove(edits[0])
        #expect(try local.queuedEdits() == [edits[1]])
    }

    @Test func queuedEditsApplyOnTopOfTheBackendsRows() throws {
        try local.edit(.rename(1, "Cake"))
        try local.edit(.complete(2))
        var changed = bread
        changed.due = "2025-01-01"
        changed.title = "Rolls"
        let tea = LocalToDo(id: 3, title: "Tea", due: nil, isDone: false)
        try local.replace(with: [changed, milk, tea])
        let open = try local.database.read(LocalToDos.open)
        #expect(open.map(\.title) == ["Cake", "Tea"])
        #expect(open[0].due == "2025-01-01")
    }

    @Test func aDeletionAtTheBackendWinsOverALocalEdit() throws {
        try local.edit(.rename(1, "Cake"))
        try local.replace(with: [milk])
        #expect(try titles == ["Milk"])
    }

    @Test func onlyDifferencesAreWritten() throws {
        var changed = milk
        changed.title = "Oat milk"
        let before = try local.database.read { $0.totalChangesCount }
        try local.replace(with: [bread, changed])
        #expect(try local.database.read { $0.totalChangesCount } == before + 1)
    }

    @Test func editsSurviveTheProgram() throws {
        let name = "LocalToDosTests-\(UUID().uuidString)/to-do.sqlite"
        let path = FileManager.default.temporaryDirectory.appending(path: name).path
        try LocalToDos(path: path).edit(.put(bread))
        let again = try LocalToDos(path: path)
        #expect(try again.queuedEdits().map(\.operation) == [.put(bread)])
        #expect(try again.database.read(LocalToDos.open) == [bread])
    }

    @Test(arguments: [
        (ToDoOperation.complete(7), #"{"op":"update","row":{"id":7,"isDone":true}}"#),
        (.reopen(7), #"{"op":"update","row":{"id":7,"isDone":false}}"#),
        (.rename(7, "A"), #"{"op":"update","row":{"id":7,"title":"A"}}"#),
        (.postpone(7, nil), #"{"op":"update","row":{"due":null,"id":7}}"#),
        (.remove(7), #"{"id":7,"op":"remove"}"#),
    ])
    func anOperationIsWhatTheBackendReads(operation: ToDoOperation, json: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(operation), as: UTF8.self) == json)
        let decoded = try JSONDecoder().decode(ToDoOperation.self, from: Data(json.utf8))
        #expect(decoded == operation)
    }
}
