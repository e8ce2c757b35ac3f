import Broker
import Net
import PusherProtocol

/// The connections that have closed and still have channels to leave.
///
/// To leave ten thousand channels takes many milliseconds, which events must not wait for: each turn does a part of it. Of a
/// connection in the queue nothing is left but its stream and its socket ID: what it had in quotas and tables is free
/// already, and nothing is delivered to it.
struct LeaveQueue {
    /// How many channels are left at a time.
    struct Settings: Sendable {
        /// A connection that has no more channels than this leaves them as it closes, which takes as long by itself.
        var atOnceMax = 32
        /// Channels that are left in one turn.
        var portionMax = 256
    }

    fileprivate struct Entry {
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

    fileprivate mutating func append(_ entry: Entry) { entries.append(entry) }

    /// Takes the next channel to leave; the connections are dealt with one after the other.
    fileprivate mutating func takeNext() -> (ChannelAddress, Stream, SocketID)? {
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

extension ShardCore {
    /// Takes a connection that closes out of all its channels, at once or in portions; nothing of them reaches it from now
    /// on but what was sent before.
    func leave(_ subscriptions: Subscriptions, of connection: Connection) {
        let (stream, app) = (connection.stream, connection.app.id)
        guard subscriptions.count > leaves.settings.atOnceMax, !reactor.hasShutDown else {
            subscriptions.forEachChannel {
                leave(ChannelAddress(app: app, name: $0), stream, connection.socketID)
            }
            return
        }
        stream.detachFromGroups()
        leaves.append(
            LeaveQueue.Entry(
                stream: stream,
                socketID: connection.socketID,
                app: app,
                channels: subscriptions.makeIterator()
            )
        )
    }

    /// Leaves as many channels as one turn may.
    func advanceLeaves() {
        guard !leaves.isEmpty else { return }
        for _ in 0..<leaves.settings.portionMax {
            guard let (address, stream, connection) = leaves.takeNext() else { return }
            leave(address, stream, connection)
        }
    }
}
