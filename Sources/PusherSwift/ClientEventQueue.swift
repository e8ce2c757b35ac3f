import Foundation

/// What was passed to `trigger` for the events of one channel that the client underneath holds.
///
/// The client sends a channel's events in their order, and so the last of these are those that still wait.
// SAFETY: the list is only touched under `lock`.
final class ClientEventQueue: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [QueuedClientEvent] = []

    /// Adds an event that the client has just taken.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - count: How many of the channel's events the client holds now, which are all that are kept.
    func append(_ event: QueuedClientEvent, count: Int) {
        lock.withLock { list.append(event) }
        _ = events(count: count)
    }

    /// The events that still wait.
    ///
    /// - Parameter count: How many the client holds.
    /// - Returns: The last of all, in their order.
    func events(count: Int) -> [QueuedClientEvent] {
        lock.withLock {
            list.removeFirst(max(0, list.count - count))
            return list
        }
    }

    func removeAll() { lock.withLock { list = [] } }
}
