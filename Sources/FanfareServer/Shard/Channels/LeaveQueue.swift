import Broker
import Net
import PusherProtocol

/// The connections that have closed and still have channels to leave.
///
/// To leave ten thousand channels takes many milliseconds, which events must not wait for: each turn does a part of it. Of a
/// connection in the queue nothing is left but its stream and its socket ID: what it had in quotas and tables is free
/// already, and nothing is delivered to it.
package struct LeaveQueue {
    /// How many channels are left at a time.
    package struct Settings: Sendable {
        /// A connection that has no more channels than this leaves them as it closes, which takes as long by itself.
        let atOnceMax: Int
        /// Channels that are left in one turn.
        let portionMax: Int

        package init(atOnceMax: Int = 32, portionMax: Int = 256) {
            self.atOnceMax = atOnceMax
            self.portionMax = portionMax
        }
    }

    private struct Entry {
        let stream: Stream
        let socketID: SocketID
        let app: AppID
        var channels: Subscriptions.Iterator
    }

    let settings: Settings
    private var entries: [Entry] = []
    /// The index of the first entry that has channels left.
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
                channels: channels.makeIterator()
            )
        )
    }

    /// Takes the next channel to leave; the connections are dealt with one after the other.
    mutating func takeNext() -> (ChannelAddress, Stream, SocketID)? {
        while first < entries.count {
            if let name = entries[first].channels.next() {
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
