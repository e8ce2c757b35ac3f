import CommandSupport
import Net
import PusherProtocol

/// Members that join and leave a presence channel, and observers that check the notices.
final class SoakPresence: SoakWorkload {
    private let clients: PresenceClients
    private let rate: Double
    private var timing: (schedule: Schedule, startedBefore: Int)?
    private var isTimedOut = false

    /// Creates the members and observers, without connections.
    ///
    /// - Parameters:
    ///   - plan: The channel, the numbers of connections, and a rate.
    ///   - generator: Opens the connections.
    init(_ plan: PresencePlan, generator: LoadGenerator) {
        rate = plan.rate ?? 1
        clients = PresenceClients(plan: plan, generator: generator)
    }

    func connect(at now: MonotonicTime) throws(BenchError) -> Bool { try clients.connect(at: now) }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        let timing =
            timing ?? (
                Schedule(pace: .rate(rate), messageCount: .max, start: now),
                clients.visits.startedCount
            )
        self.timing = timing
        let nextLeave = clients.endVisits(after: .seconds(1 / rate))
        var nextJoin: MonotonicTime?
        joining: while let visitor = clients.visits.absentVisitor {
            let begun = clients.visits.startedCount - timing.startedBefore
            switch timing.schedule.step(sent: begun, missing: 0, now: now) {
            case .send(let due): clients.startVisit(of: visitor, due: due)
            case .wait(let due):
                nextJoin = due
                break joining
            case .waitForDeliveries, .finished: break joining
            }
        }
        return [nextLeave, nextJoin].compactMap { $0 }.min()
    }

    func drain(at now: MonotonicTime, isLate: Bool) -> Bool {
        timing = nil
        _ = clients.endVisits(after: .zero)
        if clients.visits.inProgressCount == 0 { return true }
        isTimedOut = isTimedOut || isLate
        return isLate
    }

    var deliveryCounts: DeliveryCounts {
        let tracker = clients.visits.tracker
        return DeliveryCounts(
            deliveries: tracker.deliveries,
            lost: isTimedOut ? tracker.missing : tracker.skippedCount,
            misplaced: tracker.duplicated + tracker.outOfOrder
        )
    }

    var rows: [BenchReport.Row] {
        [
            .init(
                label: "presence notices",
                text: "\(grouped(clients.visits.endedCount)) visits, \(deliveryCounts.text)",
                members: [("presence_visits", .integer(clients.visits.endedCount))]
                    + deliveryCounts.members("presence")
            )
        ]
    }

    var fault: String? { nil }

    var failure: BenchError? { clients.failure }
}
