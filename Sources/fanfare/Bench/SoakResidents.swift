import Net
import PusherProtocol

/// Subscribers that stay for the whole run, and the events that they and all others on their channels receive.
final class SoakResidents: SoakPart {
    /// Who they are.
    let audience: Audience
    /// Is told of each event: the channel's index, and the bytes of its data.
    var published: (Int, Int) -> Void = { _, _ in }

    private let name: String
    private let publisher: Publisher
    private let rate: Double
    private let dataLength: Int
    private var isReaching = false
    private var flow: (schedule: Schedule, sentBefore: Int)?
    private var isTimedOut = false

    /// How many events may be on their way: this generator has its own limits, and they are not the server's faults.
    private static let underWayMax = 64

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
        self.rate = rate
        self.dataLength = dataLength
        audience = Audience(
            channels: channels,
            subscribersPerChannel: subscribersPerChannel,
            generator: generator
        )
        publisher = Publisher(generator: generator)
    }

    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool {
        guard try audience.assemble(at: now) else { return false }
        if !isReaching {
            isReaching = true
            publisher.connect()
        }
        return publisher.canPublish
    }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        let flow =
            flow ?? (
                Schedule(pace: .rate(rate), messageCount: .max, start: now),
                audience.tally.sentCount
            )
        self.flow = flow
        let missingMax = Self.underWayMax * audience.tally.subscribersPerChannel
        while publisher.canPublish, audience.tally.missing < missingMax {
            let tally = audience.tally
            let sent = tally.sentCount - flow.sentBefore
            switch flow.schedule.step(sent: sent, missing: 0, now: .current) {
            case .send(let due):
                let channel = tally.sentCount % audience.channels.count
                let data = audience.nextData(on: channel, length: dataLength, due: due)
                publisher.publish(data, to: audience.channels[channel])
                published(channel, data.count)
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
        return nil
    }

    func retire(at now: MonotonicTime, isLate: Bool) -> Bool {
        flow = nil
        if audience.tally.missing == 0, publisher.unansweredCount == 0 { return true }
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
        guard isTimedOut, publisher.unansweredCount > 0 else { return nil }
        return "\(grouped(publisher.unansweredCount)) events of \(name) were not answered"
    }

    var failure: BenchError? { publisher.failure ?? audience.failure }
}
