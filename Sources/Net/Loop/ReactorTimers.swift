/// Called when a timer of ``Reactor/schedule(after:_:tag:)`` is due.
public protocol TimerTarget: AnyObject {
    /// Called when the timer is due, with the number given when it was scheduled.
    func timerFired(tag: Int)
}

// Timers.
extension Reactor {
    /// The purpose of a timer.
    enum Alarm {
        case target(any TimerTarget, tag: Int)
        case deadline(Stream)
        case accept(Listener)
        case resume(StreamGroup)
    }

    /// Calls `target` once, from `poll()`, when `delay` has passed since this turn's ``timerTime``.
    ///
    /// - Parameters:
    ///   - delay: Rounded up to whole milliseconds; a timer never fires early.
    ///   - target: Retained until then.
    ///   - tag: A number to call the target with.
    /// - Returns: The timer's ID, for ``cancel(_:)``.
    @discardableResult
    public func schedule(
        after delay: Duration,
        _ target: any TimerTarget,
        tag: Int = 0
    ) -> TimerID {
        schedule(after: delay, .target(target, tag: tag))
    }

    /// Cancels a timer.
    ///
    /// Does nothing if it has fired or was cancelled before.
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
