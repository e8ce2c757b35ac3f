import Synchronization

/// Which thread runs an event loop's resident, and whether something was posted since its last turn began.
///
/// A single atomic word, so that a poster can see whether the thread sleeps. The eventfd is written only then, once per
/// burst. Each transition makes the writes of one thread visible to the next.
struct LoopActivity: ~Copyable, Sendable {
    private let word = Atomic<UInt8>(Self.running)

    /// The loop's thread runs the resident.
    private static var running: UInt8 { 0 }
    /// Something was posted since the last turn began.
    private static var posted: UInt8 { 1 }
    /// The loop's thread waits for events, and no thread runs the resident.
    private static var sleeping: UInt8 { 2 }
    /// The loop's thread waits for events, and another thread runs the resident.
    private static var assisted: UInt8 { 4 }

    private func move(from old: UInt8, to new: UInt8) -> Bool {
        word.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing)
            .exchanged
    }

    // MARK: By any thread

    /// Records a post; returns whether the loop's thread has to be woken for it.
    ///
    /// If not, the thread that runs the resident checks for posts before it waits.
    func post() -> Bool {
        word.bitwiseOr(Self.posted, ordering: .acquiringAndReleasing).oldValue == Self.sleeping
    }

    /// Makes the calling thread run the resident; false unless the loop's thread sleeps and nothing was posted.
    func beginAssisting() -> Bool { move(from: Self.sleeping, to: Self.assisted) }

    /// Records that the calling thread has run the resident, and returns whether the loop's thread has to be woken.
    ///
    /// It has to be if work is left (`needsThread`), or something was posted meanwhile.
    func endAssisting(needsThread: Bool) -> Bool {
        if !needsThread, move(from: Self.assisted, to: Self.sleeping) { return false }
        word.store(Self.sleeping | Self.posted, ordering: .releasing)
        return true
    }

    // MARK: By the loop's thread

    /// Whether something was posted since the last turn began.
    var isPosted: Bool { word.load(ordering: .relaxed) & Self.posted != 0 }

    /// Whether the thread waits for events, nothing was posted, and no thread assists.
    var isAsleep: Bool { word.load(ordering: .relaxed) == Self.sleeping }

    /// Allows other threads to assist; false, without allowing it, if something was posted.
    func beginSleep() -> Bool { move(from: Self.running, to: Self.sleeping) }

    /// Returns the resident to the loop's thread and clears the posted mark; false while another thread runs it.
    func endSleep() -> Bool {
        while true {
            let seen = word.load(ordering: .acquiring)
            guard seen & Self.assisted == 0 else { return false }
            if move(from: seen, to: Self.running) { return true }
        }
    }
}
