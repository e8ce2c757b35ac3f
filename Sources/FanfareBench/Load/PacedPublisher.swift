import Net
import PusherProtocol

/// Events to an subscribers at a pace, to one of its channels after another, for as long as they are wanted.
final class PacedPublisher {
    /// Who receives them.
    let subscribers: Subscribers
    /// Is told of each event: the channel's index, and the bytes of its data.
    var onPublish: (Int, Int) -> Void = { _, _ in }

    private let publisher: EventPublisher
    private let pace: Pace
    private let dataLength: Int
    private var isConnecting = false
    private var flow: (schedule: Schedule, sentBefore: Int)?

    /// How many events may be on their way, whatever the pace: a generator has limits of its own, and what waits because
    /// of them is no fault of the server's.
    private static let inFlightMax = 64

    /// A publisher that has yet to begin.
    ///
    /// - Parameters:
    ///   - subscribers: Who receives the events.
    ///   - pace: How fast they are sent.
    ///   - dataLength: The length of each event's data, in bytes.
    ///   - generator: Makes the connection to the HTTP API.
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

    /// Reaches the HTTP API; to be called until it is reached.
    func connect() -> Bool {
        if !isConnecting { publisher.connect() }
        isConnecting = true
        return publisher.canSend
    }

    /// Sends all events that are due; the first call after ``pause()`` begins anew.
    ///
    /// - Returns: When the next one is due; nil if that depends on deliveries.
    func step() -> MonotonicTime? {
        let missingMax = Self.inFlightMax * subscribers.tracker.subscribersPerChannel
        let flow = flow ?? (schedule, subscribers.tracker.sentCount)
        self.flow = flow
        while publisher.canSend, subscribers.tracker.missing < missingMax {
            let (tracker, now) = (subscribers.tracker, MonotonicTime.current)
            let sent = tracker.sentCount - flow.sentBefore
            switch flow.schedule.step(sent: sent, missing: tracker.missing, now: now) {
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

    /// Sends nothing more until the next step.
    func pause() { flow = nil }

    /// Whether everything has been answered and has arrived.
    var isIdle: Bool { subscribers.tracker.missing == 0 && publisher.unansweredCount == 0 }

    /// How many events were not answered yet.
    var unansweredCount: Int { publisher.unansweredCount }

    /// The first thing that went wrong.
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
