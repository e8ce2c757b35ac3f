import Net
import PusherProtocol

/// Events to an audience at a pace, to one of its channels after another, for as long as they are wanted.
final class Feed {
    /// Who receives them.
    let audience: Subscribers
    /// Is told of each event: the channel's index, and the bytes of its data.
    var published: (Int, Int) -> Void = { _, _ in }

    private let publisher: Publisher
    private let pace: Pace
    private let dataLength: Int
    private var isConnecting = false
    private var flow: (schedule: Schedule, sentBefore: Int)?

    /// How many events may be on their way, whatever the pace: a generator has limits of its own, and what waits because
    /// of them is no fault of the server's.
    private static let underWayMax = 64

    /// A feed that has yet to begin.
    ///
    /// - Parameters:
    ///   - audience: Who receives the events.
    ///   - pace: How fast they are sent.
    ///   - dataLength: The length of each event's data, in bytes.
    ///   - generator: Makes the connection to the HTTP API.
    init(to audience: Subscribers, pace: Pace, dataLength: Int, generator: Generator) {
        self.audience = audience
        self.pace = pace
        self.dataLength = dataLength
        publisher = Publisher(generator: generator)
    }

    /// Reaches the HTTP API; to be called until it is reached.
    func connect() -> Bool {
        if !isConnecting { publisher.connect() }
        isConnecting = true
        return publisher.canPublish
    }

    /// Sends all events that are due; the first call after ``pause()`` begins anew.
    ///
    /// - Returns: When the next one is due; nil if that depends on deliveries.
    func step() -> MonotonicTime? {
        let subscribers = audience.tally.subscribersPerChannel
        let flow = flow ?? (schedule, audience.tally.sentCount)
        self.flow = flow
        while publisher.canPublish, audience.tally.missing < Self.underWayMax * subscribers {
            let (tally, now) = (audience.tally, MonotonicTime.current)
            let sent = tally.sentCount - flow.sentBefore
            switch flow.schedule.step(sent: sent, missing: tally.missing, now: now) {
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

    /// Sends nothing more until the next step.
    func pause() { flow = nil }

    /// Whether everything has been answered and has arrived.
    var isQuiet: Bool { audience.tally.missing == 0 && publisher.unansweredCount == 0 }

    /// How many events were not answered yet.
    var unansweredCount: Int { publisher.unansweredCount }

    /// The first thing that went wrong.
    var failure: BenchError? { publisher.failure ?? audience.failure }

    private var schedule: Schedule {
        Schedule(
            pace: pace,
            messageCount: .max,
            subscriberCount: audience.tally.subscribersPerChannel,
            start: .current
        )
    }
}
