import Glibc

/// How far the run is: one line that is rewritten on a terminal, a line now and then elsewhere.
struct ProgressLine {
    let caseCount: Int
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var isBegun = false

    init(caseCount: Int) { self.caseCount = caseCount }

    /// Says which case runs.
    mutating func show(_ number: Int) {
        if isTerminal {
            isBegun = true
            write("\rcase \(number) of \(caseCount)")
        } else if number == caseCount || number % 50 == 0 {
            write("case \(number) of \(caseCount)\n")
        }
    }

    /// Says something on a line of its own.
    mutating func interrupt(_ text: String) {
        end()
        write(text + "\n")
    }

    /// Leaves the line as it is.
    mutating func end() {
        if isBegun { write("\n") }
        isBegun = false
    }

    /// To standard error, which is not buffered.
    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
