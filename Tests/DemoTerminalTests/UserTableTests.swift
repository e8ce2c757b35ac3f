import FanfareClient
import Testing

@testable import demo_terminal

@Suite("The rows of the terminal view") struct UserTableTests {
    private func table(_ names: String...) -> UserTable {
        var table = UserTable()
        table.replace(with: names.enumerated().map { .init(id: $0 + 1, name: $1) })
        return table
    }

    @Test(arguments: [
        (UserTable.Change.add(.init(id: 9, name: "D")), ["A", "B", "C", "D"]),
        (.add(.init(id: 1, name: "A")), ["A", "B", "C"]), (.remove(id: 2), ["A", "C"]),
        (.remove(id: 7), ["A", "B", "C"]), (.move(id: 1, index: 2), ["B", "C", "A"]),
        (.move(id: 3, index: 0), ["C", "A", "B"]), (.move(id: 1, index: 99), ["B", "C", "A"]),
        (.move(id: 7, index: 0), ["A", "B", "C"]),
    ])
    func applies(change: UserTable.Change, names: [String]) {
        var table = table("A", "B", "C")
        table.apply(change)
        #expect(table.rows.map(\.name) == names)
        // A second time it changes nothing more.
        table.apply(change)
        #expect(table.rows.map(\.name) == names)
    }

    @Test(
        arguments: [
            (
                "addUser", #"{"name":"Ann","deviceId":"x","id":4}"#,
                UserTable.Change.add(.init(id: 4, name: "Ann"))
            ),
            ("removeUser", #"{"id":4,"index":0,"deviceId":"x"}"#, .remove(id: 4)),
            (
                "moveUser", #"{"src":0,"dest":2,"src_id":4,"dest_id":6,"deviceId":"x"}"#,
                .move(id: 4, index: 2)
            ),
            ("somethingElse", "nonsense", nil),
        ] as [(String, String, UserTable.Change?)]
    )
    func readsEvents(name: String, data: String, change: UserTable.Change?) throws {
        let event = ChannelEvent(name: name, channel: "userslist", data: data)
        #expect(try TableEvents.change(of: event) == change)
    }

    @Test func anEventOfTheWrongShapeIsAnError() {
        let event = ChannelEvent(name: "addUser", channel: "userslist", data: #"{"id":null}"#)
        #expect(throws: FanfareError.self) { try TableEvents.change(of: event) }
    }
}

@Suite("What is typed at the terminal view") struct TableCommandTests {
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
}
