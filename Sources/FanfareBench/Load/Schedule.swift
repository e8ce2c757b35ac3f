import CommandSupport
import Net

/// How fast a benchmark sends events, or opens connections.
enum Pace: Equatable, Sendable {
    /// Closed loop: at most this many events are in flight, counted in deliveries.
    case window(Int)
    /// Open loop: this many events per second, whether or not the server keeps up.
    case rate(Double)
}

extension Pace: CustomStringConvertible {
    /// The pace in the headline.
    var description: String {
        switch self {
        case .window(let count): "\(grouped(count)) at a time"
        case .rate(let rate): "\(decimal(rate, places: 1)) a second"
        }
    }

    /// The pace in the JSON object: one of the two members is null.
    var parameters: [BenchReport.Member] {
        switch self {
        case .window(let count): [("window", .integer(count)), ("rate_per_s", .null)]
        case .rate(let rate): [("window", .null), ("rate_per_s", .number(rate, places: 3))]
        }
    }
}

/// An optional rate at the end of a headline: `, 20.0 a second`.
func perSecond(_ rate: Double?) -> String { rate.map { ", \(Pace.rate($0))" } ?? "" }

/// Decides when each event of a run is sent.
struct Schedule {
    /// How fast to send.
    let pace: Pace
    /// The number of events.
    var messageCount = Int.max
    /// The number of deliveries of each event.
    var subscriberCount = 1
    /// When the first event is due.
    let start: MonotonicTime
    /// The number of events sent before this schedule.
    var sentBefore = 0

    /// What to do about the next event.
    enum Step: Equatable {
        /// Send it; its latency counts from this time.
        case send(due: MonotonicTime)
        /// Wait: it is due at this time.
        case wait(until: MonotonicTime)
        /// Wait for deliveries: the window is full.
        case waitForDeliveries
        /// All events are sent.
        case finished
    }

    /// Decides about the next event, by the number sent and that of deliveries that have not arrived.
    func step(sent: Int, missing: Int, now: MonotonicTime) -> Step {
        let sent = sent - sentBefore
        guard sent < messageCount else { return .finished }
        switch pace {
        case .window(let count):
            return missing < count * subscriberCount ? .send(due: now) : .waitForDeliveries
        case .rate(let perSecond):
            // Due times count from the first event: a server that stalls does not delay them, so that the latency of a
            // late event includes the wait (no coordinated omission).
            let offset = Int64((Double(sent) * 1e9 / perSecond).rounded())
            let due = MonotonicTime(nanoseconds: start.nanoseconds + offset)
            return due <= now ? .send(due: due) : .wait(until: due)
        }
    }
}
