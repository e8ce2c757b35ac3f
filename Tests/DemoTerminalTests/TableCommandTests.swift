import ArgumentParser
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

    @Test(
        "A mistake says what is wrong, and what to type",
        arguments: [
            ("", "type add NAME, remove N, move N M, or quit"),
            ("add", "add needs a name: type add NAME, remove N, move N M, or quit"),
            ("remove", "remove needs the number of a row, 1 to 3"),
            ("remove 0", "remove needs the number of a row, 1 to 3"),
            ("remove 4", "remove needs the number of a row, 1 to 3"),
            ("remove x", "remove needs the number of a row, 1 to 3"),
            ("move 1", "move needs the number of a row, 1 to 3"),
            (
                "dance", "\"dance\" is not a command: type add NAME, remove N, move N M, or quit"
            ),
        ]
    )
    func refuses(line: String, mistake: String) {
        #expect(throws: TableCommand.Mistake(description: mistake)) {
            try TableCommand(line, rowCount: 3)
        }
    }

    @Test(
        "A command to nobody ends with an error: without a broker, and without a backend",
        .timeLimit(.minutes(1))
    )
    @MainActor func nobody() async throws {
        // Nobody listens on port 1 of this machine.
        let terminal = try TableTerminal.parse(
            ["--do", "move 3 1", "--broker", "ws://127.0.0.1:1", "--backend", "http://127.0.0.1:1"]
        )
        let error = await #expect(throws: UnreachableDemos.self) { try await terminal.run() }
        let text = try #require(error).description
        #expect(text.contains(". Start them with \"make run\"") && !text.contains(".."), "\(text)")
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
