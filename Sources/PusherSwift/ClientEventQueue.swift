import Foundation

/// A client event that waits for the subscription of its channel or the rate limit.
public struct QueuedClientEvent {
    /// The event's name.
    public let name: String
    /// The data passed to `trigger`.
    public let data: Any

    /// Creates an event for ``PusherChannel/unsentEvents``.
    ///
    /// - Parameters:
    ///   - name: The event's name, which begins with `client-`.
    ///   - data: A value that `JSONSerialization` can encode.
    public init(name: String, data: Any) {
        self.name = name
        self.data = data
    }
}

/// The arguments of `trigger` for one channel's events that the `Fanfare` client has queued.
///
/// The client sends a channel's events in order, so the last events of this list are those still queued.
// SAFETY: the list is only accessed under `lock`.
final class ClientEventQueue: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [QueuedClientEvent] = []

    /// Adds an event that the client has just queued.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - count: The number of the channel's events queued in the client; older ones are removed here.
    func append(_ event: QueuedClientEvent, count: Int) {
        lock.withLock { list.append(event) }
        _ = events(count: count)
    }

    /// Returns the last `count` events, in order: those that the client still has queued.
    func events(count: Int) -> [QueuedClientEvent] {
        lock.withLock {
            list.removeFirst(max(0, list.count - count))
            return list
        }
    }

    func removeAll() { lock.withLock { list = [] } }
}
