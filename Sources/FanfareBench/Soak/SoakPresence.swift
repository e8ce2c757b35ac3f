import CommandSupport
import Net
import PusherProtocol

/// Members that join and leave a presence channel, and observers that check the notices.
final class SoakPresence: SoakWorkload {
    private let clients: PresenceClients
    /// Visits per second.
    private let rate = 2.0
    private var schedule: Schedule?
    private var isTimedOut = false

    /// Creates the members and observers, without connections.
    init(of channel: ChannelName, count: Int, generator: LoadGenerator) {
        clients = PresenceClients(
            of: channel,
            observers: count,
            visitors: count,
            generator: generator
        )
    }

    func connect(at now: MonotonicTime) throws(BenchError) -> Bool { try clients.connect(at: now) }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        let started = clients.visits.startedCount
        let schedule =
            schedule ?? Schedule(pace: .rate(rate), start: now, sentBefore: started)
        self.schedule = schedule
        let nextLeave = clients.endVisits(after: .seconds(1 / rate))
        var nextJoin: MonotonicTime?
        joining: while let visitor = clients.visits.absentVisitor {
            switch schedule.step(sent: clients.visits.startedCount, missing: 0, now: now) {
            case .send(let due): clients.startVisit(of: visitor, due: due)
            case .wait(let due):
                nextJoin = due
                break joining
            case .waitForDeliveries, .finished: break joining
            }
        }
        return earlier(nextLeave, nextJoin)
    }

    func drain(at now: MonotonicTime, isLate: Bool) -> Bool {
        schedule = nil
        _ = clients.endVisits(after: .zero)
        if clients.visits.inProgressCount == 0 { return true }
        isTimedOut = isTimedOut || isLate
        return isLate
    }

    var deliveryCounts: DeliveryCounts {
        DeliveryCounts(clients.visits.tracker, isTimedOut: isTimedOut)
    }

    var rows: [Row] {
        Row(
            label: "presence notices",
            text: "\(grouped(clients.visits.endedCount)) visits, \(deliveryCounts.text)",
            members: [("presence_visits", .integer(clients.visits.endedCount))]
                + deliveryCounts.members("presence")
        )
    }
}
