import Primitives

/// A queue of a source's events, which the list handles on the main actor.
///
/// Events that arrive faster than the main actor runs are handled together and show as one update. A full queue
/// suspends the source.
final class SourceEventQueue<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// The number of queued events at which the source must wait.
    private static var countMax: Int { 256 }

    private let events = Lock<[SourceEvent<Row>]>([])
    private let handle: @MainActor @Sendable ([SourceEvent<Row>]) -> Void

    init(handle: @escaping @MainActor @Sendable ([SourceEvent<Row>]) -> Void) {
        self.handle = handle
    }

    /// Enqueues an event; suspends only when the queue is full.
    func enqueue(_ event: SourceEvent<Row>) async {
        let count = events.withLock { events in
            events.append(event)
            return events.count
        }
        if count == 1 { Task { @MainActor in drain() } }
        if count >= Self.countMax { await drain() }
    }

    @MainActor private func drain() {
        let taken = events.withLock { exchange(&$0, with: []) }
        if !taken.isEmpty { handle(taken) }
    }
}
