import ArgumentParser

/// `fanfare-microbench`: the costs of single routines.
@main struct Microbench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanfare-microbench",
        abstract: "Measure routines, each by itself.",
        subcommands: [
            Path.self, Rows.self, Schedules.self, Marks.self, Walks.self, StoredStreams.self,
        ],
        defaultSubcommand: Path.self
    )
}

/// The routines on a message's path.
struct Path: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure the routines on a message's path.",
        discussion: """
            Prints the CPU time of an operation: median, least and greatest of the samples. With \
            --calls it only calls the subjects that often, for a tool that counts instructions.
            """
    )

    @Option(help: "Only the subject of this name.")
    var only: String?

    @Option(help: "How many samples to take.")
    var samples = 15

    @Option(help: "Measure nothing; make this many calls.")
    var calls: Int?

    @Flag(help: "Print name, operations a call and operation of each subject, and end.")
    var list = false

    func run() throws {
        let subjects = (Frames.subjects + Texts.subjects + Requests.subjects + Loop.subjects)
            .filter { only == nil || $0.name == only }
        guard !subjects.isEmpty else {
            throw ValidationError("There is no subject '\(only ?? "")'; see --list.")
        }
        for subject in subjects {
            if list {
                print(subject.name, subject.operationsPerCall, subject.operation, separator: "\t")
            } else if let calls {
                call(subject, times: calls)
            } else {
                report(subject)
            }
        }
    }

    private func call(_ subject: Subject, times: Int) {
        for number in 1...max(times, 1) {
            subject.body()
            if number % subject.callsMax == 0 { subject.restore() }
        }
    }

    private func report(_ subject: Subject) {
        let measurement = Measurement(subject, samples: max(samples, 1))
        let columns = [measurement.median, measurement.least, measurement.greatest]
            .map { padded(rounded($0), to: 12, left: true) }
        print(padded(subject.name, to: 18) + columns.joined() + " ns  " + subject.operation)
    }
}

/// Formats a number, with one decimal place below a hundred.
func rounded(_ value: Double) -> String {
    value < 100 ? "\((value * 10).rounded() / 10)" : "\(Int(value.rounded()))"
}

/// Formats a cell of a table.
func padded(_ text: String, to width: Int, left: Bool = false) -> String {
    let space = String(repeating: " ", count: max(width - text.count, 0))
    return left ? space + text : text + space
}
