import CommandSupport
import Net
import PusherProtocol

/// Members that join a presence channel and leave it again, before observers that must see each of that once.
final class SoakPresence: SoakPart {
    private let crowd: PresenceCrowd
    private let rate: Double
    private var flow: (schedule: Schedule, begunBefore: Int)?
    private var isTimedOut = false

    /// Members and observers who have yet to connect.
    ///
    /// - Parameters:
    ///   - plan: The channel, and how many come to it; at a rate.
    ///   - generator: Makes the connections.
    init(_ plan: PresencePlan, generator: Generator) {
        rate = plan.rate ?? 1
        crowd = PresenceCrowd(plan: plan, generator: generator)
    }

    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool { try crowd.assemble(at: now) }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        let flow =
            flow ?? (
                Schedule(pace: .rate(rate), messageCount: .max, start: now), crowd.visits.begunCount
            )
        self.flow = flow
        let nextLeave = crowd.sendAway(after: .seconds(1 / rate))
        var nextJoin: MonotonicTime?
        invitation: while let visitor = crowd.visits.away {
            let begun = crowd.visits.begunCount - flow.begunBefore
            switch flow.schedule.step(sent: begun, missing: 0, now: now) {
            case .send(let due): crowd.invite(visitor, due: due)
            case .wait(let due):
                nextJoin = due
                break invitation
            case .waitForDeliveries, .finished: break invitation
            }
        }
        return [nextLeave, nextJoin].compactMap { $0 }.min()
    }

    func retire(at now: MonotonicTime, isLate: Bool) -> Bool {
        flow = nil
        _ = crowd.sendAway(after: .zero)
        if crowd.visits.underWayCount == 0 { return true }
        isTimedOut = isTimedOut || isLate
        return isLate
    }

    var receipts: Receipts {
        let tally = crowd.visits.tally
        return Receipts(
            deliveries: tally.deliveries,
            lost: isTimedOut ? tally.missing : tally.overtaken,
            misplaced: tally.duplicated + tally.outOfOrder
        )
    }

    var rows: [BenchReport.Row] {
        [
            .init(
                label: "presence notices",
                text: "\(grouped(crowd.visits.endedCount)) visits, \(receipts.text)",
                members: [("presence_visits", .integer(crowd.visits.endedCount))]
                    + receipts.members("presence")
            )
        ]
    }

    var fault: String? { nil }

    var failure: BenchError? { crowd.failure }
}
