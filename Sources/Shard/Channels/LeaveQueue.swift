import Broker
import Net
import PusherProtocol

/// Closed connections that are still subscribed to channels.
///
/// To unsubscribe from ten thousand channels takes many milliseconds, which would delay events. Therefore each turn
/// does a portion. Only the stream and the socket ID of a queued connection remain. Its quotas and table entries are
/// already released, and nothing is delivered to it.
package struct LeaveQueue {
    /// The number of channels that are processed at a time.
    package struct Settings: Sendable {
        /// A connection with at most this many channels leaves them at once when it closes.
        let atOnceMax: Int
        /// The number of channels that are processed in one turn.
        let portionMax: Int

        package init(atOnceMax: Int = 32, portionMax: Int = 4) {
            self.atOnceMax = atOnceMax
            self.portionMax = portionMax
        }
    }

    private struct Entry {
        let stream: Stream
        let socketID: SocketID
        let app: AppID
        /// Each channel is removed when it is left, so that the memory of thousands is not released at once.
        var channels: Subscriptions
    }

    let settings: Settings
    private var entries: [Entry] = []
    /// The index of the first entry with channels left.
    private var first = 0

    init(_ settings: Settings) { self.settings = settings }

    /// The number of connections.
    var count: Int { entries.count - first }

    var isEmpty: Bool { count == 0 }

    /// Adds a closed connection.
    mutating func append(
        _ channels: Subscriptions,
        _ stream: Stream,
        _ socketID: SocketID,
        _ app: AppID
    ) {
        entries.append(
            Entry(
                stream: stream,
                socketID: socketID,
                app: app,
                channels: channels
            )
        )
    }

    /// Removes and returns the next channel to leave; connections are processed one after the other.
    mutating func popNext() -> (ChannelAddress, Stream, SocketID)? {
        while first < entries.count {
            if let name = entries[first].channels.popFirst() {
                let entry = entries[first]
                return (ChannelAddress(app: entry.app, name: name), entry.stream, entry.socketID)
            }
            first += 1
            guard first >= 64 || first == entries.count else { continue }
            entries.removeFirst(first)
            first = 0
        }
        return nil
    }
}
