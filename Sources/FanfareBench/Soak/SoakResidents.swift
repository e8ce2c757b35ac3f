import CommandSupport
import Net

/// Subscribers that stay for the whole run, and the publisher of the events that all subscribers of their channels
/// receive.
final class SoakResidents: SoakWorkload {
    private let name: String
    private let publisher: PacedPublisher
    private var isTimedOut = false

    /// Creates the residents, without connections.
    init(name: String, _ publisher: PacedPublisher) {
        self.name = name
        self.publisher = publisher
    }

    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        try publisher.connect(at: now)
    }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? { publisher.step() }

    func drain(at now: MonotonicTime, isLate: Bool) -> Bool {
        publisher.pause()
        if publisher.isIdle { return true }
        isTimedOut = isTimedOut || isLate
        return isLate
    }

    var deliveryCounts: DeliveryCounts {
        DeliveryCounts(publisher.subscribers.tracker, isTimedOut: isTimedOut)
    }

    var rows: [Row] {
        let label = jsonName(name)
        Row(label: name, text: deliveryCounts.text, members: deliveryCounts.members(label))
        Row.latency(name, "\(label)_latency", publisher.subscribers.latencies)
    }

    var fault: String? {
        guard isTimedOut, publisher.unansweredCount > 0 else { return nil }
        return "\(grouped(publisher.unansweredCount)) events of \(name) were not answered"
    }
}
