import Net

/// How fast a benchmark sends events, or opens connections.
enum Pace: Equatable, Sendable {
    /// Closed loop: at most this many events are in flight, counted in deliveries.
    case window(Int)
    /// Open loop: this many events per second, whether or not the server keeps up.
    case rate(Double)
}

/// Decides when each event of a run is sent.
struct Schedule {
    /// How fast to send.
    let pace: Pace
    /// The number of events.
    let messageCount: Int
    /// The number of deliveries of each event.
    var subscriberCount = 1
    /// When the first event is due.
    let start: MonotonicTime

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

    /// Decides about the next event.
    ///
    /// - Parameters:
    ///   - sent: The number of events sent.
    ///   - missing: The number of their deliveries that have not arrived.
    ///   - now: The time.
    /// - Returns: The decision.
    func step(sent: Int, missing: Int, now: MonotonicTime) -> Step {
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
