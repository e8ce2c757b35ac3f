import Synchronization

/// Who runs the resident of an event loop, and whether something was posted since its last turn began.
///
/// One word, so that whoever posts knows at once whether the thread sleeps: only then the eventfd is written, and once a
/// burst. Each change of hands makes what one thread has written visible to the other.
struct LoopActivity: ~Copyable, Sendable {
    private let word = Atomic<UInt8>(Self.running)

    /// The loop's thread runs the resident.
    private static var running: UInt8 { 0 }
    /// Something was posted since the last turn began.
    private static var posted: UInt8 { 1 }
    /// The loop's thread waits for events, and nobody runs the resident.
    private static var asleep: UInt8 { 2 }
    /// The loop's thread waits for events, and another thread runs the resident.
    private static var assisted: UInt8 { 4 }

    private func move(from old: UInt8, to new: UInt8) -> Bool {
        word.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing)
            .exchanged
    }

    // MARK: By any thread

    /// Notes that something was posted; returns whether the loop's thread has to be woken for it.
    ///
    /// Otherwise whoever runs the resident looks before anybody waits.
    func post() -> Bool {
        word.bitwiseOr(Self.posted, ordering: .acquiringAndReleasing).oldValue == Self.asleep
    }

    /// Lets the calling thread run the resident; false unless the loop's thread sleeps and nothing was posted.
    func beginAssisting() -> Bool { move(from: Self.asleep, to: Self.assisted) }

    /// The calling thread has run the resident.
    ///
    /// - Parameter needsThread: Whether the loop's thread has to go on.
    /// - Returns: Whether that thread has to be woken: it has to go on, or something was posted meanwhile.
    func endAssisting(needsThread: Bool) -> Bool {
        if !needsThread, move(from: Self.assisted, to: Self.asleep) { return false }
        word.store(Self.asleep | Self.posted, ordering: .releasing)
        return true
    }

    // MARK: By the loop's thread

    /// Whether something was posted since the last turn began.
    var isPosted: Bool { word.load(ordering: .relaxed) & Self.posted != 0 }

    /// Whether the thread waits for events, nothing was posted, and nobody assists.
    var isAsleep: Bool { word.load(ordering: .relaxed) == Self.asleep }

    /// Lets others assist from here on; returns false, and lets nobody, if something was posted.
    func fallAsleep() -> Bool { move(from: Self.running, to: Self.asleep) }

    /// Takes the resident back, and what was posted as seen; false while another thread runs it.
    func rise() -> Bool {
        while true {
            let seen = word.load(ordering: .acquiring)
            guard seen & Self.assisted == 0 else { return false }
            if move(from: seen, to: Self.running) { return true }
        }
    }
}
