import Net

/// How fast a benchmark does what it does.
enum Pace: Equatable, Sendable {
    /// As fast as the server goes: at most so many events are on their way, counted in deliveries.
    case window(Int)
    /// So many events a second, whether or not the server keeps up.
    case rate(Double)
}

/// When each event of a run is due.
struct Schedule {
    /// How fast to send.
    let pace: Pace
    /// How many events to send.
    let messageCount: Int
    /// How many deliveries each event makes.
    var subscriberCount = 1
    /// When the first event was due.
    let start: MonotonicTime

    /// What to do about the next event.
    enum Step: Equatable {
        /// Send it; its latency counts from this time.
        case send(due: MonotonicTime)
        /// It is not due before this time.
        case wait(until: MonotonicTime)
        /// Too much is on its way.
        case waitForDeliveries
        /// There is none.
        case finished
    }

    /// Decides about the next event.
    ///
    /// - Parameters:
    ///   - sent: How many events were sent.
    ///   - missing: How many of their deliveries have not arrived.
    ///   - now: The time.
    /// - Returns: What to do about it.
    func step(sent: Int, missing: Int, now: MonotonicTime) -> Step {
        guard sent < messageCount else { return .finished }
        switch pace {
        case .window(let count):
            return missing < count * subscriberCount ? .send(due: now) : .waitForDeliveries
        case .rate(let perSecond):
            // From the first event on, never from the last: a server that stalls delays no due
            // time, and each event that had to wait shows the whole wait in its latency.
            let offset = Int64((Double(sent) * 1e9 / perSecond).rounded())
            let due = MonotonicTime(nanoseconds: start.nanoseconds + offset)
            return due <= now ? .send(due: due) : .wait(until: due)
        }
    }
}
