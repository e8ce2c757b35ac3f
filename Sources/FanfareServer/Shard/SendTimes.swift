import Net

/// How long turns take in which events are published, from their beginning until the events are sent.
struct SendTimes {
    /// The number of events that were published until the end of the last turn.
    private var publishedCount = 0
    private var longest = Duration.zero

    /// Called at the end of a turn, when queues have been written; reads the clock only if events were published.
    ///
    /// - Parameters:
    ///   - begin: When the turn began.
    ///   - publishedCount: The number of events that were published until now.
    mutating func turnEnded(begunAt begin: MonotonicTime, publishedCount: Int) {
        guard publishedCount != self.publishedCount else { return }
        self.publishedCount = publishedCount
        longest = max(longest, begin.duration(to: .current))
    }

    /// Returns the longest time since the last call; zero without an event.
    mutating func takeLongest() -> Duration { exchange(&longest, with: .zero) }
}
