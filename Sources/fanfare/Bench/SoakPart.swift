import Net

/// One kind of behaviour in a mixed load.
protocol SoakPart: AnyObject {
    /// Lets in those who stay for the whole run.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all are in.
    /// - Throws: Why they cannot be.
    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool

    /// Does what is due while the load is on.
    ///
    /// - Parameter now: The time.
    /// - Returns: When there is something to do again; nil for the next tick.
    /// - Throws: What stands in the way.
    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime?

    /// Ends what is under way and begins nothing; called once a turn until it is done.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - isLate: Whether what has not come by now counts as lost.
    /// - Returns: Whether all but those who stay have gone, and those have received everything.
    func retire(at now: MonotonicTime, isLate: Bool) -> Bool

    /// What was received and checked.
    var receipts: Receipts { get }
    /// What there is to report.
    var rows: [BenchReport.Row] { get }
    /// What is wrong beside the receipts, in a line; nil if nothing is.
    var fault: String? { get }
    /// Why the run cannot go on.
    var failure: BenchError? { get }
}
