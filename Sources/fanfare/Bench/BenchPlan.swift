import Net

/// What a benchmark is to do, before it has a connection.
protocol BenchPlan: Sendable {
    /// The subcommand's name.
    var benchmark: String { get }
    /// How many connections are open at once, and the option that says so.
    var connections: (count: Int, option: String) { get }
    /// Begins, once the server has been reached.
    func begin(with generator: Generator) throws(BenchError) -> any BenchRun
}

/// A benchmark that is under way.
protocol BenchRun: AnyObject {
    /// Does what is due; called once a turn of the loop.
    ///
    /// - Parameter now: The time.
    /// - Returns: How to go on.
    /// - Throws: What stands in the way of a result.
    func step(at now: MonotonicTime) throws(BenchError) -> BenchStep
}

/// How a benchmark goes on.
enum BenchStep {
    /// Something may happen, or this time may pass.
    case wait(Duration)
    /// It is over.
    case finished(BenchReport)

    /// How often progress is shown, and how long a turn waits at most.
    static let tick = Duration.milliseconds(100)

    /// How long duplicates are waited for when everything has arrived.
    static let aftermath = Duration.milliseconds(200)

    /// Waits until something happens.
    static let idle = BenchStep.wait(tick)

    /// Waits until a time.
    ///
    /// The loop's timers count milliseconds: what is due within one is waited for without sleeping.
    static func wait(from now: MonotonicTime, until due: MonotonicTime) -> BenchStep {
        let rest = now.duration(to: due) - .milliseconds(1)
        return .wait(max(.zero, min(rest, tick)))
    }
}
