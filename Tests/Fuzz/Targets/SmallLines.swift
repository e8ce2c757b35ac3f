import Broker
import PusherProtocol

/// What shards of the small broker say to each other, each line first in, first out; which line is read next is chosen
/// by the input.
struct SmallLines {
    enum Message {
        // To a home.
        case join(ChannelName, SocketID, as: Member?, request: UInt32)
        case leave(ChannelName, SocketID)
        case clientEvent(ChannelName, from: SocketID)
        case publish(Publication, on: ChannelName)
        case signIn(UserID)
        case signOut(UserID)
        case watch(UserID, by: SocketID)
        case unwatch(UserID, by: SocketID)
        // To the shard of a connection.
        case granted(ChannelName, SocketID, SmallHome.Grant, request: UInt32)
        case refused(ChannelName, SocketID, request: UInt32)
        case deliver(ChannelName, SmallHome.Event)
        case presence(UserID, isOnline: Bool, to: SocketID)
    }

    static let shardCount = 3
    private var queues = [[Message]](repeating: [], count: shardCount * shardCount)

    /// Whether anything is left to be read.
    var hasMessages: Bool { queues.contains { !$0.isEmpty } }

    /// Says something.
    mutating func say(_ message: Message, from sender: Int, to receiver: Int) {
        queues[sender * SmallLines.shardCount + receiver].append(message)
    }

    /// Takes the oldest message of the first line that has one, beginning with the one chosen.
    mutating func next(
        beginningWith choice: Int
    ) -> (message: Message, sender: Int, receiver: Int)? {
        for offset in queues.indices {
            let line = (choice + offset) % queues.count
            guard !queues[line].isEmpty else { continue }
            let message = queues[line].removeFirst()
            return (message, line / SmallLines.shardCount, line % SmallLines.shardCount)
        }
        return nil
    }
}
