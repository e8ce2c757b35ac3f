/// When a group whose fan-out took long begins the next one.
///
/// Frames that come during a walk wait for its end. Are they fewer than the walk carried, then the
/// readers lag behind: they need the processor, and the publishers wait for them. A little patience
/// lets each send of the next walk carry more, and eight frames cost hardly more than one. It ends
/// when as many have come, or with a quarter of the time that the walk took: nobody waits for long
/// who did not wait four times as long anyway.
struct WalkPace {
    /// Shorter walks are followed by the next one at once.
    private static var longWalk: Duration { .milliseconds(8) }

    private var start = MonotonicTime(nanoseconds: 0)
    private var frameCount = 0

    /// A walk begins that carries this many frames.
    mutating func begin(frameCount: Int, at now: MonotonicTime) {
        start = now
        self.frameCount = frameCount
    }

    /// Whether the frames that wait are worth a walk.
    func isWorthWhile(_ waitingCount: Int) -> Bool { waitingCount >= frameCount }

    /// How long the walk that ends now lets the next one wait; nil for not at all.
    func pause(before waitingCount: Int, at now: MonotonicTime) -> Duration? {
        let length = start.duration(to: now)
        return length < Self.longWalk || isWorthWhile(waitingCount) ? nil : length / 4
    }
}
