/// A command at the to-dos' prompt; row numbers start at 1.
enum ToDoCommand: Equatable {
    case edit(ToDoOperation)
    /// Reverts the last `done`.
    case undo
    case quit

    /// The error of an invalid command.
    struct Mistake: Error, Equatable, CustomStringConvertible {
        var description: String
    }

    /// Parses a line such as `done 3` or `add Buy bread by 2026-01-31`; throws a ``Mistake`` with the correct syntax.
    init(
        _ line: String,
        rows: [LocalToDo],
        newID: () -> Int64 = { .random(in: 1 << 32..<1 << 53) }
    ) throws(Mistake) {
        let words = line.split(separator: " ").map(String.init)
        func row() throws(Mistake) -> Int64 {
            guard words.count > 1, let number = Int(words[1]), number > 0, number <= rows.count
            else {
                throw Mistake(
                    description: "\(words[0]) needs the number of a row, 1 to \(rows.count)"
                )
            }
            return rows[number - 1].id
        }
        switch words.first {
        case "add" where words.count > 1:
            var title = words.dropFirst()
            var due: String?
            if title.count > 2, title[title.endIndex - 2] == "by" {
                due = title.popLast()
                title.removeLast()
            }
            self = .edit(
                .put(
                    LocalToDo(
                        id: newID(),
                        title: title.joined(separator: " "),
                        due: due,
                        isDone: false
                    )
                )
            )
        case "done": self = .edit(.complete(try row()))
        case "delete": self = .edit(.remove(try row()))
        case "rename" where words.count > 2:
            self = .edit(.rename(try row(), words.dropFirst(2).joined(separator: " ")))
        case "due" where words.count == 3:
            self = .edit(.postpone(try row(), words[2] == "-" ? nil : words[2]))
        case "undo": self = .undo
        case "quit", "exit": self = .quit
        default: throw Mistake(description: "Type \(Self.help)")
        }
    }

    static let help =
        "add TITLE [by 2026-01-31] · done N · undo · rename N TITLE · due N DAY, or - · delete N · quit"
}
