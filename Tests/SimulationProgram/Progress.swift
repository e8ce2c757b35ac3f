import Glibc

/// Reports progress: on one line of a terminal, or now and then on a new line.
struct Progress {
    private let count: Int
    private let isShown: Bool
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private var done = 0
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    private var shownAt: ContinuousClock.Instant

    init(count: Int, isShown: Bool) {
        self.count = count
        self.isShown = isShown
        start = clock.now
        shownAt = start
    }

    mutating func advance() {
        done += 1
        guard isShown, clock.now - shownAt > (isTerminal ? .milliseconds(200) : .seconds(10)) else {
            return
        }
        shownAt = clock.now
        show()
    }

    /// Prints the final number of runs.
    func end() {
        if isShown { show(isLast: true) }
    }

    private func show(isLast: Bool = false) {
        let seconds = Double((clock.now - start) / .milliseconds(1)) / 1_000
        let rate = Int(Double(done) / max(seconds, 0.001))
        let text = "\(done) of \(count) runs, \(rate) a second"
        print(
            isTerminal ? "\r\u{1B}[K\(text)" : text,
            terminator: isTerminal && !isLast ? "" : "\n"
        )
        fflush(nil)
    }
}
