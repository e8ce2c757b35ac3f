import LiveCollections

/// What is typed to edit the text, line by line.
enum TextCommand: Equatable {
    case append(String)
    case insert(line: Int, String)
    case change(line: Int, String)
    case delete(line: Int)
    case quit

    /// What is wrong with a command, and how to write it.
    struct Mistake: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// Reads a command such as `insert 2 Hello`.
    init(_ typed: String) throws(Mistake) {
        let parts = typed.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        let word = String(parts[0])
        let rest = parts.count > 1 ? String(parts[1]) : ""
        switch word {
        case "append": self = .append(rest)
        case "insert", "change":
            let (line, text) = try Self.line(rest)
            self = word == "insert" ? .insert(line: line, text) : .change(line: line, text)
        case "delete": self = .delete(line: try Self.line(rest).0)
        case "quit", "q": self = .quit
        default:
            throw Mistake(
                description: "Type: append TEXT, insert N TEXT, change N TEXT, delete N, or quit."
            )
        }
    }

    private static func line(_ text: String) throws(Mistake) -> (Int, String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard let line = Int(parts[0]), line > 0 else {
            throw Mistake(
                description: "\(parts[0]) is not the number of a line: they begin with 1."
            )
        }
        return (line, parts.count > 1 ? String(parts[1]) : "")
    }

    /// What it does to a text.
    ///
    /// - Parameter text: The text as it is shown.
    /// - Returns: The splice; `nil` for the command to end.
    /// - Throws: A ``Mistake`` about a line that is not there.
    func edit(of text: String) throws(Mistake) -> TextSplice? {
        switch self {
        case .quit: return nil
        case .append(let line):
            let end = text.utf16.count
            return TextSplice(end..<end, text.isEmpty ? line : "\n" + line)
        case .insert(let number, let line):
            let start = try Self.range(of: number, in: text).lowerBound
            return TextSplice(start..<start, line + "\n")
        case .change(let number, let line):
            return TextSplice(try Self.range(of: number, in: text), line)
        case .delete(let number):
            let range = try Self.range(of: number, in: text)
            // With its line end, or, of the last line, with the one before.
            if range.upperBound < text.utf16.count {
                return TextSplice(range.lowerBound..<(range.upperBound + 1), "")
            }
            return TextSplice(max(range.lowerBound - 1, 0)..<range.upperBound, "")
        }
    }

    /// The UTF-16 offsets of a line without its end.
    private static func range(of number: Int, in text: String) throws(Mistake) -> Range<Int> {
        var start = 0
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.indices.contains(number - 1) else {
            throw Mistake(description: "There is no line \(number): the text has \(lines.count).")
        }
        for line in lines[..<(number - 1)] { start += String(line).utf16.count + 1 }
        return start..<(start + String(lines[number - 1]).utf16.count)
    }
}
