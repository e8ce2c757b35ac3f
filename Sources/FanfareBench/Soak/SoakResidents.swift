import CommandSupport
import Net
import PusherProtocol

/// Subscribers that stay for the whole run, and the events that they and all others on their channels receive.
final class SoakResidents: SoakWorkload {
    /// What they receive.
    let publisher: PacedPublisher
    private let name: String
    private var isTimedOut = false

    /// Residents who have yet to connect.
    ///
    /// - Parameters:
    ///   - name: For people and, in small letters with underscores, for programs.
    ///   - channels: Public or private, at least one.
    ///   - subscribersPerChannel: At least 1.
    ///   - rate: Events a second, over all channels.
    ///   - dataLength: The length of each event's data, in bytes.
    ///   - generator: Makes the connections.
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

    /// Who they are.
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
