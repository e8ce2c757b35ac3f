import Testing

@testable import demo_terminal

@Suite("Commands of the to-dos") struct ToDoCommandTests {
    private let rows = [5, 7].map { LocalToDo(id: $0, title: "\($0)", due: nil, isDone: false) }

    private func command(_ line: String) throws(ToDoCommand.Mistake) -> ToDoCommand {
        try ToDoCommand(line, rows: rows, newID: { 9 })
    }

    @Test func aRowIsAddedWithADayOrWithout() throws {
        let bread = LocalToDo(id: 9, title: "Buy bread", due: nil, isDone: false)
        #expect(try command("add Buy  bread") == .edit(.put(bread)))
        var dated = bread
        dated.due = "2026-01-31"
        #expect(try command("add Buy bread by 2026-01-31") == .edit(.put(dated)))
        // "by" as part of the title.
        let stand = LocalToDo(id: 9, title: "by me", due: nil, isDone: false)
        #expect(try command("add by me") == .edit(.put(stand)))
    }

    @Test(arguments: [
        ("done 2", ToDoCommand.edit(.complete(7))), ("delete 1", .edit(.remove(5))),
        ("rename 1 A new title", .edit(.rename(5, "A new title"))),
        ("due 2 2026-01-31", .edit(.postpone(7, "2026-01-31"))),
        ("due 2 -", .edit(.postpone(7, nil))),
        ("undo", .undo), ("quit", .quit),
    ])
    func rowsAreNamedByTheirNumbers(line: String, expected: ToDoCommand) throws {
        #expect(try command(line) == expected)
    }

    @Test(arguments: [
        ("done 3", "done needs the number of a row, 1 to 2"),
        ("done 0", "done needs the number of a row, 1 to 2"),
        ("delete", "delete needs the number of a row, 1 to 2"),
        ("add", "Type \(ToDoCommand.help)"), ("", "Type \(ToDoCommand.help)"),
    ])
    func whatIsNoCommandIsTold(line: String, sentence: String) {
        #expect(throws: ToDoCommand.Mistake(description: sentence)) { try command(line) }
    }
}
