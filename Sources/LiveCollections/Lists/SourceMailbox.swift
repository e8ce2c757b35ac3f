import Synchronization

/// What a source has told and the list has not taken yet.
///
/// What comes faster than the main actor turns is taken in one go, and shown as one update. When too
/// much waits, the source does.
final class SourceMailbox<Row: LiveRow>: Sendable where Row.ID: Sendable {
    /// How many events may wait.
    private static var countMax: Int { 256 }

    private let events = Mutex<[SourceEvent<Row>]>([])
    private let take: @MainActor @Sendable ([SourceEvent<Row>]) -> Void

    init(take: @escaping @MainActor @Sendable ([SourceEvent<Row>]) -> Void) { self.take = take }

    /// Leaves an event, and comes back at once unless too much waits.
    func put(_ event: SourceEvent<Row>) async {
        let count = events.withLock { events in
            events.append(event)
            return events.count
        }
        if count == 1 { Task { @MainActor in empty() } }
        if count >= Self.countMax { await empty() }
    }

    @MainActor private func empty() {
        let taken = events.withLock { exchange(&$0, with: []) }
        if !taken.isEmpty { take(taken) }
    }
}
