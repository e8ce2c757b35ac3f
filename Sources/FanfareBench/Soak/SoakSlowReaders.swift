import CommandSupport
import Net

/// Subscribers of the residents' channels that do not read until the server must have closed them.
final class SoakSlowReaders: SoakPart {
    private let name: String
    private let crowd: StalledCrowd
    private var isThere = false
    private var isLeaving = false

    /// Slow readers who have yet to come.
    ///
    /// - Parameters:
    ///   - name: For people and, in small letters with underscores, for programs.
    ///   - crowd: They themselves.
    init(name: String, _ crowd: StalledCrowd) {
        self.name = name
        self.crowd = crowd
    }

    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool { true }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        isLeaving = false
        if !isThere { isThere = try crowd.gather(at: now) }
        try crowd.step(at: now)
        return nil
    }

    func retire(at now: MonotonicTime, isLate: Bool) -> Bool {
        if !isLeaving { crowd.dismiss() }
        isLeaving = true
        isThere = false
        return crowd.isGone || isLate
    }

    var receipts: Receipts { Receipts() }

    var rows: [BenchReport.Row] {
        let label = name.lowercased().replacing(" ", with: "_")
        return [
            .init(
                label: "\(name) that the server closed",
                text: crowd.partings.description,
                members: crowd.partings.members(label)
                    + [("\(label)_unclosed", .integer(crowd.unclosedCount))]
            )
        ]
    }

    var fault: String? {
        guard crowd.unclosedCount == 0 else {
            return "\(grouped(crowd.unclosedCount)) of \(name) were never closed"
        }
        return crowd.partings.fault
    }

    var failure: BenchError? { crowd.failure }
}
