import Net

/// One kind of behaviour in a mixed load.
protocol SoakWorkload: AnyObject {
    /// Opens the permanent connections; returns whether all are ready.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool

    /// Does what is due while the load lasts; returns when the next step is due, or nil for the next tick.
    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime?

    /// Stops the load; called once per turn until it has drained.
    ///
    /// - Returns: Whether only the permanent connections are open, and they have received everything or it is late.
    func drain(at now: MonotonicTime, isLate: Bool) -> Bool

    /// The deliveries that were checked.
    var deliveryCounts: DeliveryCounts { get }
    /// The rows of the report.
    @RowBuilder var rows: [Row] { get }
    /// Other faults than those of the deliveries, in one line; nil if there is none.
    var fault: String? { get }
}

extension SoakWorkload {
    /// None beside those of the deliveries.
    var fault: String? { nil }
}

/// The prefix of a workload's JSON names: `plain_residents` for `plain residents`.
func jsonName(_ name: String) -> String { name.lowercased().replacing(" ", with: "_") }
