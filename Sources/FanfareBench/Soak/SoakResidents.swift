import CommandSupport
import Net
import PusherProtocol

/// Subscribers that stay for the whole run, and the events that they and all others on their channels receive.
final class SoakResidents: SoakPart {
    /// What they receive.
    let feed: Feed
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
        generator: Generator
    ) {
        self.name = name
        let audience = Subscribers(
            channels: channels,
            subscribersPerChannel: subscribersPerChannel,
            generator: generator
        )
        feed = Feed(to: audience, pace: .rate(rate), dataLength: dataLength, generator: generator)
    }

    /// Who they are.
    var audience: Subscribers { feed.audience }

    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool {
        guard try audience.assemble(at: now) else { return false }
        return feed.connect()
    }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? { feed.step() }

    func retire(at now: MonotonicTime, isLate: Bool) -> Bool {
        feed.pause()
        if feed.isQuiet { return true }
        isTimedOut = isTimedOut || isLate
        return isLate
    }

    var receipts: Receipts {
        let tally = audience.tally
        return Receipts(
            deliveries: tally.deliveries,
            lost: isTimedOut ? tally.missing : tally.overtaken,
            misplaced: tally.duplicated + tally.outOfOrder
        )
    }

    var rows: [BenchReport.Row] {
        let label = name.lowercased().replacing(" ", with: "_")
        return [
            .init(label: name, text: receipts.text, members: receipts.members(label))
        ] + BenchReport.Row.latency(name, "\(label)_latency", LatencyFigures(audience.latencies))
    }

    var fault: String? {
        guard isTimedOut, feed.unansweredCount > 0 else { return nil }
        return "\(grouped(feed.unansweredCount)) events of \(name) were not answered"
    }

    var failure: BenchError? { feed.failure }
}
