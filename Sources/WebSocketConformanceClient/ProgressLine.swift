import Glibc

/// The progress of the run: one line that is rewritten on a terminal, a line every 50 cases elsewhere.
struct ProgressLine {
    let caseCount: Int
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var isBegun = false

    init(caseCount: Int) { self.caseCount = caseCount }

    /// Shows the number of the current case.
    mutating func show(_ number: Int) {
        if isTerminal {
            isBegun = true
            write("\rcase \(number) of \(caseCount)")
        } else if number == caseCount || number % 50 == 0 {
            write("case \(number) of \(caseCount)\n")
        }
    }

    /// Writes a line of text.
    mutating func interrupt(_ text: String) {
        end()
        write(text + "\n")
    }

    /// Ends the current line.
    mutating func end() {
        if isBegun { write("\n") }
        isBegun = false
    }

    /// Writes to standard error, which is not buffered.
    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
