import CommandSupport
import Net
import PusherProtocol

/// Subscribers that stay for the whole run, and the publisher of the events that all subscribers of their channels
/// receive.
final class SoakResidents: SoakWorkload {
    /// Publishes the events.
    let publisher: PacedPublisher
    private let name: String
    private var isTimedOut = false

    /// Creates the residents, without connections.
    ///
    /// - Parameters:
    ///   - name: The label in the table; in lower case with underscores, the prefix of the JSON names.
    ///   - channels: Public or private, at least one.
    ///   - subscribersPerChannel: At least 1.
    ///   - rate: Events per second, over all channels.
    ///   - dataLength: The length of each event's data, in bytes.
    ///   - generator: Opens the connections.
    init(
        name: String,
        channels: [ChannelName],
        subscribersPerChannel: Int,
        rate: Double,
        dataLength: Int,
        generator: LoadGenerator
    ) {
        self.name = name
        let subscribers = Subscribers(
            channels: channels,
            subscribersPerChannel: subscribersPerChannel,
            generator: generator
        )
        publisher = PacedPublisher(
            to: subscribers,
            pace: .rate(rate),
            dataLength: dataLength,
            generator: generator
        )
    }

    /// The residents.
    var subscribers: Subscribers { publisher.subscribers }

    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        guard try subscribers.connect(at: now) else { return false }
        return publisher.connect()
    }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? { publisher.step() }

    func drain(at now: MonotonicTime, isLate: Bool) -> Bool {
        publisher.pause()
        if publisher.isIdle { return true }
        isTimedOut = isTimedOut || isLate
        return isLate
    }

    var deliveryCounts: DeliveryCounts {
        let tracker = subscribers.tracker
        return DeliveryCounts(
            deliveries: tracker.deliveries,
            lost: isTimedOut ? tracker.missing : tracker.skippedCount,
            misplaced: tracker.duplicated + tracker.outOfOrder
        )
    }

    var rows: [BenchReport.Row] {
        let label = name.lowercased().replacing(" ", with: "_")
        return [
            .init(label: name, text: deliveryCounts.text, members: deliveryCounts.members(label))
        ] + BenchReport.Row.latency(name, "\(label)_latency", LatencyFigures(subscribers.latencies))
    }

    var fault: String? {
        guard isTimedOut, publisher.unansweredCount > 0 else { return nil }
        return "\(grouped(publisher.unansweredCount)) events of \(name) were not answered"
    }

    var failure: BenchError? { publisher.failure }
}
