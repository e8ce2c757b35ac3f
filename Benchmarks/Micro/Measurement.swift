import Glibc

/// A routine to measure.
struct Subject {
    /// The name for `--only`: words joined by hyphens.
    let name: String
    /// A description of one operation.
    let operation: String
    /// The number of operations in one call of `body`.
    var operationsPerCall = 1
    /// The routine; it is called repeatedly with the same data.
    let body: () -> Void
    /// Called between samples, unmeasured, to undo the effects of `body`.
    var restore: () -> Void = {}
    /// The most calls of `body` between two of `restore`.
    var callsMax = Int.max
}

/// The cost of an operation, in nanoseconds, over several samples.
struct Measurement {
    let median: Double
    let least: Double
    let greatest: Double

    /// Increases the calls per sample until a sample lasts long enough for the clock's precision, then takes samples.
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

    /// Twenty milliseconds, which is a thousand times the cost of reading the clock twice.
    private static var sampleNanoseconds: Double { 20e6 }

    private static func time(_ subject: Subject, calls: Int) -> Double {
        let start = now()
        for _ in 0..<calls { subject.body() }
        let nanoseconds = now() - start
        subject.restore()
        return nanoseconds
    }

    /// The CPU time of this thread, on which other load has less effect.
    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

/// Consumes a result, so that the compiler cannot remove its computation.
@inline(never) func consume<Value>(_ value: Value) {}

/// Ends the program, because a failed subject measures nothing.
func fail(_ what: String) -> Never {
    let line = Array("fanfare-microbench: \(what)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
}
