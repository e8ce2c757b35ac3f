import Net

/// Work that is done after a delay, once however often it is requested meanwhile.
final class DelayedWork: TimerTarget {
    private let reactor: Reactor
    private let work: () -> Void
    private var isScheduled = false

    init(on reactor: Reactor, _ work: @escaping () -> Void) {
        (self.reactor, self.work) = (reactor, work)
    }

    /// Schedules the work, unless it is scheduled.
    func schedule(after delay: Duration) {
        guard !isScheduled else { return }
        isScheduled = true
        reactor.schedule(after: delay, self)
    }

    func timerFired(tag: Int) {
        guard !reactor.hasShutDown else { return }
        isScheduled = false
        work()
    }
}
