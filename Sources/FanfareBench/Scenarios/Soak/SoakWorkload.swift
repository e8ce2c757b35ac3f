import CommandSupport
import Net

/// One kind of behaviour in a mixed load.
protocol SoakWorkload: AnyObject {
    /// Opens the permanent connections, if there are any.
    func connect() throws(BenchError)

    /// Does what is due while the load lasts; returns when the next step is due, or nil for the next tick.
    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime?

    /// Stops the load; called once per turn until it has drained.
    ///
    /// - Returns: Whether only the permanent connections are open, and they have received everything.
    func drain(at now: MonotonicTime) -> Bool

    /// Called when the load has not drained in time: what has not arrived is lost.
    func giveUp()

    var deliveryCounts: DeliveryCounts { get }
    @RowBuilder var rows: [Row] { get }
    /// Other faults than those of the deliveries, in one line; nil if there is none.
    var fault: String? { get }
}

extension SoakWorkload {
    func connect() throws(BenchError) {}
    func giveUp() {}
    var deliveryCounts: DeliveryCounts { DeliveryCounts() }
    var fault: String? { nil }
}

/// The prefix of a workload's JSON names: `plain_residents` for `plain residents`.
func jsonName(_ name: String) -> String { name.lowercased().replacing(" ", with: "_") }

/// Subscribers that stay for the whole run, and the publisher of the events that all subscribers of their channels
/// receive.
final class SoakResidents: SoakWorkload {
    private let name: String
    private let publisher: PacedPublisher
    private var isTimedOut = false

    init(name: String, _ publisher: PacedPublisher) {
        self.name = name
        self.publisher = publisher
    }

    func connect() throws(BenchError) {
        let generator = publisher.subscribers.generator
        try generator.connect(publisher.subscribers)
        try generator.open([publisher.connection])
    }

    func step(at now: MonotonicTime) -> MonotonicTime? { publisher.sendDue() }

    func drain(at now: MonotonicTime) -> Bool {
        publisher.pause()
        return publisher.isIdle
    }

    func giveUp() { isTimedOut = true }

    var deliveryCounts: DeliveryCounts {
        DeliveryCounts(publisher.subscribers.tracker, isTimedOut: isTimedOut)
    }

    var rows: [Row] {
        let label = jsonName(name)
        Row(label: name, text: deliveryCounts.text, members: deliveryCounts.members(label))
        Row.latency(name, "\(label)_latency", publisher.subscribers.latencies)
    }

    var fault: String? {
        guard isTimedOut else { return nil }
        return counted(publisher.connection.unansweredCount, "events of \(name) were not answered")
    }
}

/// Subscribers of the residents' channels that do not read until the server should have closed them.
final class SoakSlowReaders: SoakWorkload {
    private let name: String
    private let clients: StalledClients
    private var isConnected = false
    private var isLeaving = false

    init(name: String, _ clients: StalledClients) {
        self.name = name
        self.clients = clients
    }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        isLeaving = false
        if !isConnected { isConnected = try clients.connect(at: now) }
        try clients.step(at: now)
        return nil
    }

    func drain(at now: MonotonicTime) -> Bool {
        if !isLeaving { clients.disconnect() }
        isLeaving = true
        isConnected = false
        return clients.isDisconnected
    }

    var rows: [Row] {
        Row.disconnections(
            "\(name) that the server closed",
            jsonName(name),
            clients.disconnections,
            ("\(jsonName(name))_unclosed", .integer(clients.unclosedCount))
        )
    }

    var fault: String? {
        counted(clients.unclosedCount, "of \(name) were not closed") ?? clients.disconnections.fault
    }
}

/// Members that join and leave a presence channel, and observers that check the notices.
final class SoakPresence: SoakWorkload {
    private let clients: PresenceClients
    private let rate = 2.0
    private let schedule: Schedule
    private var isTimedOut = false

    init(_ clients: PresenceClients) {
        self.clients = clients
        schedule = Schedule(.rate(rate))
    }

    func connect() throws(BenchError) { try clients.generator.connect(clients) }

    func step(at now: MonotonicTime) -> MonotonicTime? {
        clients.step(schedule, stay: .seconds(1 / rate))
    }

    func drain(at now: MonotonicTime) -> Bool {
        schedule.pause()
        _ = clients.endVisits(after: .zero)
        return clients.visits.inProgressCount == 0
    }

    func giveUp() { isTimedOut = true }

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
