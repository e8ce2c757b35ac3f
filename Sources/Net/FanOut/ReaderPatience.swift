/// How long a group's next walk waits for members that are behind.
///
/// Most of those that read set the pace of a group, so that readers that take all they can are not sent more than they can
/// take. But their kernels hide how far they are behind, each as much as its receive buffer holds: of a thousand readers
/// that all take bytes equally fast, those with the shortest buffers are seen first, and would be closed while the buffers
/// of the others still grow. So a group waits too for as many as the square root of all, and for a single one whose queue
/// is half full; but at most half of the time, for these may be slow, and must not make a group slower than by half.
struct ReaderPatience {
    /// Members that are behind and read.
    private(set) var behindCount: Int32 = 0
    /// Those of them that are far behind.
    private(set) var farBehindCount: Int32 = 0
    /// Members that have stalled: nobody waits for them.
    private(set) var stalledCount: Int32 = 0
    /// When the wait for fewer than most has begun that goes on.
    private var start: MonotonicTime?
    /// When the next one may begin.
    private var next = MonotonicTime(nanoseconds: 0)

    /// The longest wait for most of the members.
    ///
    /// It bounds by how much slow readers delay the publishers of a group that has no others, and is longer than a program
    /// needs to read from each of thousands of busy connections.
    private static var forMost: Duration { .seconds(2) }
    /// The longest wait for fewer.
    private static var forFew: Duration { .seconds(1) }

    /// Counts a member in or out, by how far its reader is behind.
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

    /// Returns whether so many are behind that a wait, once begun, goes on.
    ///
    /// - Parameter memberCount: The members, stalled ones included.
    /// - Returns: Whether some are far behind, or as many as the square root of all that read are behind.
    func isWanted(memberCount: Int) -> Bool {
        let behind = Int(behindCount)
        return farBehindCount > 0
            || behind > 0 && behind * behind >= memberCount - Int(stalledCount)
    }

    /// Begins a wait before a walk, if one is due.
    ///
    /// - Returns: How long it lasts at the most; nil if the walk begins.
    mutating func begin(memberCount: Int, at now: MonotonicTime) -> Duration? {
        if Int(behindCount) * 2 > memberCount - Int(stalledCount) { return Self.forMost }
        guard now >= next, isWanted(memberCount: memberCount) else { return nil }
        start = now
        return Self.forFew
    }

    /// The wait has ended.
    mutating func end(at now: MonotonicTime) {
        guard let start = start.take() else { return }
        next = now.advanced(by: start.duration(to: now))
    }
}
