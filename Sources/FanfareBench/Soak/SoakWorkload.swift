import Net

/// One kind of behaviour in a mixed load.
protocol SoakWorkload: AnyObject {
    /// Opens the permanent connections.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all are ready.
    /// - Throws: When a connection cannot be opened.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool

    /// Does what is due while the load lasts.
    ///
    /// - Parameter now: The time.
    /// - Returns: When the next step is due; nil for the next tick.
    /// - Throws: When a connection cannot be opened.
    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime?

    /// Stops the load; called once per turn until it has drained.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - isLate: Whether deliveries that have not arrived count as lost.
    /// - Returns: Whether only the permanent connections are open, and they have received everything.
    func drain(at now: MonotonicTime, isLate: Bool) -> Bool

    /// The deliveries that were checked.
    var deliveryCounts: DeliveryCounts { get }
    /// The rows of the report.
    var rows: [BenchReport.Row] { get }
    /// Other faults than those of the deliveries, in one line; nil if there is none.
    var fault: String? { get }
    /// The error that ends the run.
    var failure: BenchError? { get }
}
