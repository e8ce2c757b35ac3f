import CommandSupport
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

/// How fast a benchmark sends events, or opens connections.
enum Pace: Equatable, Sendable {
    /// Closed loop: at most this many events are in flight, counted in deliveries.
    case window(Int)
    /// Open loop: this many events per second, whether or not the server keeps up.
    case rate(Double)
}

extension Pace: CustomStringConvertible {
    var description: String {
        switch self {
        case .window(let count): "\(grouped(count)) at a time"
        case .rate(let rate): "\(decimal(rate, places: 1)) a second"
        }
    }
}

/// An optional rate at the end of a headline: `, 20.0 a second`.
func perSecond(_ rate: Double?) -> String { rate.map { ", \(Pace.rate($0))" } ?? "" }

/// Decides when each event of a run is sent.
final class Schedule {
    /// When the first event was due; nil before it, and after a pause.
    private(set) var start: MonotonicTime?
    private let pace: Pace
    private let messageCount: Int
    /// The number of deliveries of each event.
    private let subscriberCount: Int
    /// Events sent since the start.
    private var sentCount = 0

    init(
        _ pace: Pace,
        messageCount: Int = .max,
        subscriberCount: Int = 1,
        start: MonotonicTime? = nil
    ) {
        self.pace = pace
        self.messageCount = messageCount
        self.subscriberCount = subscriberCount
        self.start = start
    }

    /// Sends all events that are due, while that is possible; `missing` deliveries have not arrived.
    ///
    /// The first call, and the first one after a pause, starts the schedule.
    ///
    /// - Returns: When the next event is due; nil if that depends on deliveries.
    func sendDue<E>(
        missing: @autoclosure () -> Int = 0,
        while canSend: @autoclosure () -> Bool,
        _ send: (_ due: MonotonicTime) throws(E) -> Void
    ) throws(E) -> MonotonicTime? {
        start = start ?? .current
        while canSend() {
            switch step(sent: sentCount, missing: missing(), now: .current) {
            case .send(let due):
                sentCount += 1
                try send(due)
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
        return nil
    }

    /// Sends nothing until the next call; events that were due meanwhile are never sent.
    func pause() {
        start = nil
        sentCount = 0
    }

    enum Step: Equatable {
        /// Send it; its latency counts from this time.
        case send(due: MonotonicTime)
        case wait(until: MonotonicTime)
        /// Wait for deliveries: the window is full.
        case waitForDeliveries
        case finished
    }

    /// Decides about the next event, by the number sent and that of deliveries that have not arrived.
    func step(sent: Int, missing: Int, now: MonotonicTime) -> Step {
        guard sent < messageCount else { return .finished }
        switch pace {
        case .window(let count):
            return missing < count * subscriberCount ? .send(due: now) : .waitForDeliveries
        case .rate(let perSecond):
            // Due times count from the first event: a server that stalls does not delay them, so that the latency of a
            // late event includes the wait (no coordinated omission).
            let offset = Int64((Double(sent) * 1e9 / perSecond).rounded())
            let due = MonotonicTime(nanoseconds: (start ?? now).nanoseconds + offset)
            return due <= now ? .send(due: due) : .wait(until: due)
        }
    }
}
