/// Called when a timer of ``Reactor/schedule(after:_:tag:)`` is due.
public protocol TimerTarget: AnyObject {
    /// The time has come.
    ///
    /// - Parameter tag: The number given when the timer was scheduled.
    func timerFired(tag: Int)
}

// What is to happen later.
extension Reactor {
    /// What a timer is for.
    enum Alarm {
        case target(any TimerTarget, tag: Int)
        case deadline(Stream)
        case accept(Listener)
        case resume(StreamGroup)
    }

    /// Calls `target` once, from `poll()`, when `delay` has passed since this turn's ``timerTime``.
    ///
    /// - Parameters:
    ///   - delay: Kept to the millisecond, never early.
    ///   - target: Kept alive until then.
    ///   - tag: What the target is called with.
    /// - Returns: What ``cancel(_:)`` takes.
    @discardableResult
    public func schedule(
        after delay: Duration,
        _ target: any TimerTarget,
        tag: Int = 0
    ) -> TimerID {
        schedule(after: delay, .target(target, tag: tag))
    }

    /// Cancels a timer; one that has fired, or was cancelled before, is no fault.
    public func cancel(_ id: TimerID) { timers.cancel(id) }

    func schedule(after delay: Duration, _ alarm: Alarm) -> TimerID {
        let due = timerTime.advanced(by: delay).nanoseconds - start.nanoseconds
        return timers.schedule(at: UInt64(max(due, 0) / 1_000_000 + 1), alarm)
    }

    /// Fires the timers that are due.
    func fireTimers() {
        let tick = UInt64((timerTime.nanoseconds - start.nanoseconds) / 1_000_000)
        while let alarm = timers.takeDue(at: tick) {
            switch alarm {
            case .target(let target, let tag): target.timerFired(tag: tag)
            case .deadline(let stream): stream.deadlinePassed()
            case .accept(let listener): listener.retry()
            case .resume(let group): group.delayEnded()
            }
        }
    }
}
