/// What can be typed at the terminal's prompt; rows count from one.
enum TableCommand: Equatable {
    case add(String)
    case remove(Int)
    case move(Int, Int)
    case quit

    /// Why a line is none.
    struct Mistake: Error, Equatable, CustomStringConvertible {
        var description: String
    }

    /// Reads a line that was typed.
    ///
    /// - Parameters:
    ///   - line: For example `move 3 1`.
    ///   - rowCount: How many rows there are to name.
    /// - Throws: What to type instead.
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
        default:
            throw Mistake(description: "Type add NAME, remove N, move N M, or quit")
        }
    }
}
