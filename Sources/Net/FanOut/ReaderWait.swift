/// How long a group's next pass waits for members that are behind.
///
/// The majority of the reading members sets the pace of a group, so that readers are not sent more than they can take.
/// But a peer's receive buffer hides how far the peer is behind. Of a thousand equally fast readers, those with the
/// shortest buffers fall behind first. Without a wait they would be closed while the buffers of the others still fill.
/// A group therefore also waits if the number of members behind reaches the square root of all, or if a single queue is
/// half full. Such waits take at most half of the time, so that a few slow readers cannot slow a group down by more
/// than half.
struct ReaderWait {
    /// The number of members that are behind and still read.
    private(set) var behindCount: Int32 = 0
    /// The number of these that are far behind.
    private(set) var farBehindCount: Int32 = 0
    /// The number of stalled members, for which no pass waits.
    private(set) var stalledCount: Int32 = 0
    /// The start of the current wait for a minority.
    private var start: MonotonicTime?
    /// The earliest start of the next wait for a minority.
    private var next = MonotonicTime(nanoseconds: 0)

    /// The longest wait for a majority.
    ///
    /// It bounds how long readers that are all slow delay a group's publishers. It is longer than a program needs to
    /// read from each of thousands of busy connections.
    private static var forMost: Duration { .seconds(2) }
    /// The longest wait for a minority.
    private static var forFew: Duration { .seconds(1) }

    /// Adds `change` to the count of members with this lag.
    mutating func count(_ lag: ReaderLag, _ change: Int32) {
        switch lag {
        case .none: break
        case .behind: behindCount += change
        case .farBehind:
            behindCount += change
            farBehindCount += change
        case .stalled: stalledCount += change
        }
    }

    /// Returns whether a wait that has begun continues: a member is far behind, or at least the square root of all
    /// reading members is behind.
    ///
    /// - Parameter memberCount: The number of members, including stalled ones.
    /// - Returns: Whether the wait continues.
    func isNeeded(memberCount: Int) -> Bool {
        let behind = Int(behindCount)
        return farBehindCount > 0
            || behind > 0 && behind * behind >= memberCount - Int(stalledCount)
    }

    /// Begins a wait before a pass, if one is due, and returns its longest duration; nil if the pass begins now.
    mutating func begin(memberCount: Int, at now: MonotonicTime) -> Duration? {
        if Int(behindCount) * 2 > memberCount - Int(stalledCount) { return Self.forMost }
        guard now >= next, isNeeded(memberCount: memberCount) else { return nil }
        start = now
        return Self.forFew
    }

    /// Records the end of the wait.
    mutating func end(at now: MonotonicTime) {
        guard let start = start.take() else { return }
        next = now.advanced(by: start.duration(to: now))
    }
}
