import Net
import PusherProtocol

/// Publishes events at a pace, to a number of channels in turn, until it is paused.
final class PacedPublisher {
    /// The subscribers that receive the events.
    let subscribers: Subscribers
    /// Called for each event with the channel's index and the length of the data in bytes.
    var onPublish: (Int, Int) -> Void = { _, _ in }

    private let publisher: EventPublisher
    private let pace: Pace
    private let dataLength: Int
    private var isConnecting = false
    private var timing: (schedule: Schedule, sentBefore: Int)?

    /// The number of events in flight, whatever the pace: it keeps the generator itself from becoming the bottleneck.
    private static let inFlightMax = 64

    /// Creates a publisher without a connection.
    ///
    /// - Parameters:
    ///   - subscribers: The subscribers that receive the events.
    ///   - pace: How fast events are sent.
    ///   - dataLength: The length of each event's data, in bytes.
    ///   - generator: Opens the connection to the HTTP API.
    init(to subscribers: Subscribers, pace: Pace, dataLength: Int, generator: LoadGenerator) {
        self.subscribers = subscribers
        self.pace = pace
        self.dataLength = dataLength
        publisher = EventPublisher(
            subscribers.requests(dataLength: dataLength),
            policy: .endRun,
            generator: generator
        )
    }

    /// Opens the connection to the HTTP API; returns whether it is open.
    func connect() -> Bool {
        if !isConnecting { publisher.connect() }
        isConnecting = true
        return publisher.canSend
    }

    /// Sends all events that are due; the first call after ``pause()`` starts a new schedule.
    ///
    /// - Returns: When the next event is due; nil if that depends on deliveries.
    func step() -> MonotonicTime? {
        let missingMax = Self.inFlightMax * subscribers.tracker.subscribersPerChannel
        let timing = timing ?? (schedule, subscribers.tracker.sentCount)
        self.timing = timing
        while publisher.canSend, subscribers.tracker.missing < missingMax {
            let (tracker, now) = (subscribers.tracker, MonotonicTime.current)
            let sent = tracker.sentCount - timing.sentBefore
            switch timing.schedule.step(sent: sent, missing: tracker.missing, now: now) {
            case .send(let due):
                let channel = tracker.sentCount % subscribers.channels.count
                publisher.trigger(subscribers.nextEvent(on: channel, due: due))
                onPublish(channel, dataLength)
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
        return nil
    }

    /// Stops sending until the next step.
    func pause() { timing = nil }

    /// Whether all events are answered and delivered.
    var isIdle: Bool { subscribers.tracker.missing == 0 && publisher.unansweredCount == 0 }

    /// The number of unanswered events.
    var unansweredCount: Int { publisher.unansweredCount }

    /// The first error.
    var failure: BenchError? { publisher.failure ?? subscribers.failure }

    private var schedule: Schedule {
        Schedule(
            pace: pace,
            messageCount: .max,
            subscriberCount: subscribers.tracker.subscribersPerChannel,
            start: .current
        )
    }
}
