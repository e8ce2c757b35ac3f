import Net
import PusherProtocol

/// Publishes events at a pace, to a number of channels in turn, until it is paused.
final class PacedPublisher {
    let subscribers: Subscribers
    /// The connection to the HTTP API.
    let connection: EventPublisher

    private let schedule: Schedule
    private let eventCount: Int
    private let missingMax: Int
    private let recordPublished: ((_ channel: Int) -> Void)?

    /// Creates a publisher without a connection.
    ///
    /// At most `inFlightMax` events are in flight, whatever the pace: it keeps the generator itself from becoming the
    /// bottleneck. `recordPublished` is called for each event with the channel's index.
    init(
        to subscribers: Subscribers,
        pace: Pace,
        eventCount: Int = .max,
        inFlightMax: Int? = 64,
        dataLength: Int,
        recordPublished: ((_ channel: Int) -> Void)? = nil
    ) {
        self.subscribers = subscribers
        self.eventCount = eventCount
        self.recordPublished = recordPublished
        let deliveries = subscribers.tracker.subscribersPerChannel
        schedule = Schedule(pace, messageCount: eventCount, subscriberCount: deliveries)
        missingMax = inFlightMax.map { $0 * deliveries } ?? .max
        connection = subscribers.publisher(dataLength: dataLength, policy: .endRun)
    }

    /// Sends all events that are due; the first call after ``pause()`` starts a new schedule.
    ///
    /// - Returns: When the next event is due; nil if that depends on deliveries.
    func sendDue() -> MonotonicTime? {
        schedule.sendDue(
            missing: subscribers.tracker.missing,
            while: connection.canSend && subscribers.tracker.missing < missingMax
        ) { due in
            let channel = subscribers.tracker.sentCount % subscribers.channels.count
            let number = subscribers.tracker.send(on: channel)
            connection.trigger(TriggeredEvent(number: number, channel: channel, due: due))
            recordPublished?(channel)
        }
    }

    /// Sends all events that are due; done when all are delivered.
    func step(at now: MonotonicTime) -> BenchStep {
        let next = sendDue()
        if isIdle, subscribers.tracker.sentCount == eventCount { return .done }
        return isStalled(at: now) ? .stalled : .wait(until: next)
    }

    func pause() { schedule.pause() }

    /// Whether all events are answered and delivered.
    var isIdle: Bool { subscribers.tracker.missing == 0 && connection.unansweredCount == 0 }

    /// Whether events are in flight, and there was no progress within the stall timeout.
    func isStalled(at now: MonotonicTime) -> Bool {
        // Nothing is awaited between two events of a slow rate.
        if isIdle { subscribers.generator.resetStallTimer(at: now) }
        return subscribers.generator.isStalled(subscribers.tracker.progress, at: now)
    }
}
