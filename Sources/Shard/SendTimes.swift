import Net

/// The duration of turns in which events are published, from the start of the turn until the events are sent.
package struct SendTimes {
    /// The number of events that were published until the end of the last turn.
    private var publishedCount = 0
    private var longest = Duration.zero

    /// Called at the end of a turn, when queues have been written; reads the clock only if events were published.
    ///
    /// `publishedCount` is the total number of published events so far.
    mutating func turnEnded(begunAt begin: MonotonicTime, publishedCount: Int) {
        guard publishedCount != self.publishedCount else { return }
        self.publishedCount = publishedCount
        longest = max(longest, begin.duration(to: .current))
    }

    /// Returns the longest time since the last call; zero without an event.
    package mutating func takeLongest() -> Duration { exchange(&longest, with: .zero) }
}
