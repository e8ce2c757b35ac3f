/// A command at the terminal's prompt; row numbers start at 1.
enum TableCommand: Equatable {
    case add(String)
    case remove(Int)
    case move(Int, Int)
    case quit

    private static let syntax = "type add NAME, remove N, move N M, or quit"

    /// The error of an invalid command.
    struct Mistake: Error, Equatable, CustomStringConvertible {
        var description: String
    }

    /// Parses a line such as `move 3 1`; throws a ``Mistake`` with the correct syntax.
    init(_ line: String, rowCount: Int) throws(Mistake) {
        let words = line.split(separator: " ")
        func row(_ index: Int) throws(Mistake) -> Int {
            guard words.indices.contains(index), let number = Int(words[index]),
                (1...max(rowCount, 1)).contains(number), rowCount > 0
            else {
                throw Mistake(
                    description: "\(words[0]) needs the number of a row, 1 to \(rowCount)"
                )
            }
            return number - 1
        }
        switch words.first {
        case "add" where words.count > 1:
            self = .add(words.dropFirst().joined(separator: " "))
        case "remove": self = .remove(try row(1))
        case "move": self = .move(try row(1), try row(2))
        case "quit", "exit": self = .quit
        case "add": throw Mistake(description: "add needs a name: \(Self.syntax)")
        case let word?:
            throw Mistake(description: "\"\(word)\" is not a command: \(Self.syntax)")
        case nil: throw Mistake(description: Self.syntax)
        }
    }
}
