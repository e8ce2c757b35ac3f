import Glibc

/// A routine to measure, and what one call of it is.
struct Subject {
    /// Words joined by hyphens, for `--only`.
    let name: String
    /// What one operation is.
    let operation: String
    /// How many operations one call of `body` makes.
    var operationsPerCall = 1
    /// The routine; it is called again and again on the same data.
    let body: () -> Void
    /// Called between samples, off the clock: to empty what `body` has filled.
    var restore: () -> Void = {}
    /// How many calls may go between two of `restore`.
    var callsMax = Int.max
}

/// The cost of an operation, in nanoseconds, over several samples.
struct Measurement {
    let median: Double
    let least: Double
    let greatest: Double

    /// Calls the subject until a sample lasts long enough to trust the clock, then takes samples.
    init(_ subject: Subject, samples: Int) {
        var calls = 1
        while Self.time(subject, calls: calls) < Self.sampleNanoseconds / 2,
            calls < subject.callsMax
        {
            calls *= 2
        }
        calls = min(calls, subject.callsMax)
        let costs = (0..<samples)
            .map { _ in
                Self.time(subject, calls: calls) / Double(calls * subject.operationsPerCall)
            }
            .sorted()
        median = costs[costs.count / 2]
        least = costs[0]
        greatest = costs[costs.count - 1]
    }

    /// Twenty milliseconds: a thousand times what reading the clock twice costs.
    private static var sampleNanoseconds: Double { 20e6 }

    private static func time(_ subject: Subject, calls: Int) -> Double {
        let start = now()
        for _ in 0..<calls { subject.body() }
        let nanoseconds = now() - start
        subject.restore()
        return nanoseconds
    }

    /// CPU time of this thread: what else the machine does matters less.
    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

/// Takes a result, so that the compiler cannot leave out what made it.
@inline(never) func consume<Value>(_ value: Value) {}

/// Ends the program: a subject that fails measures nothing.
func fail(_ what: String) -> Never {
    let line = Array("fanfare-microbench: \(what)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
}
