import LiveCollections

/// A command that edits the text by lines; line numbers start at 1.
enum TextCommand: Equatable {
    case append(String)
    case insert(line: Int, String)
    case change(line: Int, String)
    case delete(line: Int)
    case quit

    /// The error of an invalid command.
    struct Mistake: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// Parses a command such as `insert 2 Hello`.
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
                description: "\(parts[0]) is not a line number: they start at 1."
            )
        }
        return (line, parts.count > 1 ? String(parts[1]) : "")
    }

    /// Returns the edit of the shown text, `nil` for `quit`; throws a ``Mistake`` for a line that does not exist.
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
            // With its line end. For the last line, with the line end before it.
            if range.upperBound < text.utf16.count {
                return TextSplice(range.lowerBound..<(range.upperBound + 1), "")
            }
            return TextSplice(max(range.lowerBound - 1, 0)..<range.upperBound, "")
        }
    }

    /// Returns the UTF-16 offsets of a line without its line end.
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
