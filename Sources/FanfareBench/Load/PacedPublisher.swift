import Net
import PusherProtocol

/// Publishes events at a pace, to a number of channels in turn, until it is paused.
final class PacedPublisher {
    /// The subscribers that receive the events.
    let subscribers: Subscribers
    /// When the first event of the schedule was due.
    var startedAt: MonotonicTime? { schedule?.start }

    private let publisher: EventPublisher
    private let pace: Pace
    private let eventCount: Int
    private let missingMax: Int
    private let recordPublished: ((_ channel: Int) -> Void)?
    private var schedule: Schedule?

    /// Creates a publisher without a connection.
    ///
    /// - Parameters:
    ///   - subscribers: The subscribers that receive the events.
    ///   - pace: How fast events are sent.
    ///   - eventCount: The number of events.
    ///   - inFlightMax: The number of events in flight, whatever the pace: it keeps the generator itself from becoming
    ///     the bottleneck. nil for no limit.
    ///   - dataLength: The length of each event's data, in bytes.
    ///   - recordPublished: Called for each event with the channel's index.
    init(
        to subscribers: Subscribers,
        pace: Pace,
        eventCount: Int = .max,
        inFlightMax: Int? = 64,
        dataLength: Int,
        recordPublished: ((_ channel: Int) -> Void)? = nil
    ) {
        self.subscribers = subscribers
        self.pace = pace
        self.eventCount = eventCount
        self.recordPublished = recordPublished
        missingMax = inFlightMax.map { $0 * subscribers.tracker.subscribersPerChannel } ?? .max
        publisher = EventPublisher(
            subscribers.requests(dataLength: dataLength),
            policy: .endRun,
            generator: subscribers.generator
        )
    }

    /// Connects the subscribers, then opens the connection to the HTTP API; returns whether events can be sent.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        guard try subscribers.connect(at: now) else { return false }
        return try publisher.open(at: now)
    }

    /// Sends all events that are due; the first call after ``pause()`` starts a new schedule.
    ///
    /// - Returns: When the next event is due; nil if that depends on deliveries.
    func step() -> MonotonicTime? {
        let schedule = schedule ?? newSchedule
        self.schedule = schedule
        while publisher.canSend, subscribers.tracker.missing < missingMax {
            let (sent, missing) = (subscribers.tracker.sentCount, subscribers.tracker.missing)
            switch schedule.step(sent: sent, missing: missing, now: .current) {
            case .send(let due):
                let channel = sent % subscribers.channels.count
                let number = subscribers.tracker.send(on: channel)
                publisher.trigger(TriggeredEvent(number: number, channel: channel, due: due))
                recordPublished?(channel)
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
        return nil
    }

    /// Stops sending until the next step.
    func pause() { schedule = nil }

    /// Whether all events are answered and delivered.
    var isIdle: Bool { subscribers.tracker.missing == 0 && publisher.unansweredCount == 0 }

    /// The number of unanswered events.
    var unansweredCount: Int { publisher.unansweredCount }

    /// Whether events are in flight, and there was no progress within the stall timeout.
    func isStalled(at now: MonotonicTime) -> Bool {
        let tracker = subscribers.tracker
        // Nothing is awaited between two events of a slow rate.
        if isIdle { subscribers.generator.resetStallTimer(at: now) }
        return subscribers.generator.isStalled(
            tracker.deliveries + tracker.duplicated + tracker.sentCount,
            at: now
        )
    }

    private var newSchedule: Schedule {
        Schedule(
            pace: pace,
            messageCount: eventCount,
            subscriberCount: subscribers.tracker.subscribersPerChannel,
            start: .current,
            sentBefore: subscribers.tracker.sentCount
        )
    }
}
