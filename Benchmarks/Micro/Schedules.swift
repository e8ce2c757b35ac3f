import ArgumentParser
import Glibc
import ListSimulation

/// Random schedules of lists: the tests run a few thousand of them, this command any number.
struct Schedules: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Play random schedules of a list's writer and its clients.",
        discussion: """
            Each schedule delays, drops, repeats and refuses what its seed says; in the end all \
            clients must have the writer's rows, and every change of rows must have kept the rules \
            of a table view. Exits with 1 and names the seeds that went wrong.
            """
    )

    @Option(help: "How many schedules to play.")
    var count = 100_000

    @Option(help: "The first seed.")
    var seed: UInt64 = 0

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count is \(count), and must be positive.") }
    }

    func run() throws {
        var faults = 0
        for number in 0..<count {
            let seed = seed &+ UInt64(number)
            if let fault = ListSchedule(seed: seed).fault {
                faults += 1
                if faults <= 10 { print("seed \(seed): \(fault)") }
            }
            if number % 1000 == 999 { progress(number + 1) }
        }
        progress(nil)
        print("\(count) schedules, \(faults) of them with a divergence or a broken table rule")
        if faults > 0 { throw ExitCode(1) }
    }

    /// Shows the progress on a terminal; a pipe gets only the result.
    private func progress(_ played: Int?) {
        guard isatty(STDERR_FILENO) == 1 else { return }
        let line = Array("\r\u{1B}[K\(played.map { "\($0) of \(count) schedules …" } ?? "")".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
