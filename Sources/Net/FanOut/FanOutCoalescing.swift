/// When a group whose fan-out takes several turns begins the next one.
///
/// Frames that come during a walk wait for its end, and those that come soon after it are mostly the first of many: the
/// publishers waited for the readers, and the readers for the processor. Are they fewer than the walk carried, then a
/// little patience lets each send of the next walk carry more, and eight frames cost hardly more than one. It ends when
/// as many have come, or with a quarter of the time that the walk took: nobody waits longer than that.
struct FanOutCoalescing {
    private var start = MonotonicTime(nanoseconds: 0)
    private var frameCount = 0
    private var patienceEnd = MonotonicTime(nanoseconds: 0)

    /// A walk begins that carries this many frames, and that one turn is not enough for.
    mutating func begin(frameCount: Int, at now: MonotonicTime) {
        start = now
        self.frameCount = frameCount
    }

    /// It has come to its end.
    mutating func end(at now: MonotonicTime) {
        patienceEnd = now.advanced(by: start.duration(to: now) / 4)
    }

    /// Whether the frames that wait are worth a walk.
    func isWorthWhile(_ waitingCount: Int) -> Bool { waitingCount >= frameCount }

    /// How long the frames that wait let others join them; nil for not at all.
    func pause(before waitingCount: Int, at now: MonotonicTime) -> Duration? {
        isWorthWhile(waitingCount) || now >= patienceEnd ? nil : now.duration(to: patienceEnd)
    }
}
