/// The delay before a group's next fan-out pass, when passes take several turns.
///
/// Frames sent during a pass wait for its end. The first frames after a pass are usually the start of a burst, because
/// publishers waited for readers, and readers for the processor. If fewer frames wait than the last pass carried, a
/// short delay makes each send of the next pass carry more. Eight frames cost little more than one. The delay ends when
/// as many frames wait as the last pass carried, and at the latest after a quarter of that pass's duration.
struct FanOutCoalescing {
    private var start = MonotonicTime(nanoseconds: 0)
    private var frameCount = 0
    private var delayEnd = MonotonicTime(nanoseconds: 0)

    /// Records the start of a pass that takes more than one turn.
    mutating func begin(frameCount: Int, at now: MonotonicTime) {
        start = now
        self.frameCount = frameCount
    }

    /// Records the end of the pass.
    mutating func end(at now: MonotonicTime) {
        delayEnd = now.advanced(by: start.duration(to: now) / 4)
    }

    /// Whether the next pass carries at least as many frames as the last one.
    func isLargeEnough(_ waitingCount: Int) -> Bool { waitingCount >= frameCount }

    /// Returns the delay before the next pass; nil for none.
    func delay(for waitingCount: Int, at now: MonotonicTime) -> Duration? {
        isLargeEnough(waitingCount) || now >= delayEnd ? nil : now.duration(to: delayEnd)
    }
}
