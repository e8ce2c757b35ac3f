import LiveCollections
import Testing

@testable import demo_terminal

@Suite("Commands of the table") struct TableCommandTests {
    @Test(arguments: [
        ("add Ada Lovelace", TableCommand.add("Ada Lovelace")), ("remove 1", .remove(0)),
        ("move 3 1", .move(2, 0)), ("  quit ", .quit),
    ])
    func reads(line: String, command: TableCommand) throws {
        #expect(try TableCommand(line, rowCount: 3) == command)
    }

    @Test(arguments: ["", "add", "remove", "remove 0", "remove 4", "remove x", "move 1", "dance"])
    func refuses(line: String) {
        #expect(throws: TableCommand.Mistake.self) { try TableCommand(line, rowCount: 3) }
    }

    @Test(arguments: [
        (TableCommand.add("D"), ["A", "B", "C", "D"]), (.remove(1), ["A", "C"]),
        (.move(0, 2), ["B", "C", "A"]), (.move(2, 0), ["C", "A", "B"]),
        (.quit, ["A", "B", "C"]),
    ])
    @MainActor func runs(command: TableCommand, names: [String]) async throws {
        let people = LiveList(try LocalSource(["A", "B", "C"].map { Person(name: $0) }))
        try await command.run(on: people)?.confirmed()
        #expect(people.rows.map(\.name) == names)
    }
}
