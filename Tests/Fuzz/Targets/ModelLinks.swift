import Broker
import PusherProtocol

/// The links between the shards of the model broker, each a first-in, first-out queue.
///
/// The input chooses the link that is read next.
struct ModelLinks {
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
        case granted(ChannelName, SocketID, ModelHome.Grant, request: UInt32)
        case refused(ChannelName, SocketID, request: UInt32)
        case deliver(ChannelName, ModelHome.Event)
        case presence(UserID, isOnline: Bool, to: SocketID)
    }

    static let shardCount = 3
    private var queues = [[Message]](repeating: [], count: shardCount * shardCount)

    /// Whether any message is undelivered.
    var hasMessages: Bool { queues.contains { !$0.isEmpty } }

    /// Queues a message.
    mutating func send(_ message: Message, from sender: Int, to receiver: Int) {
        queues[sender * ModelLinks.shardCount + receiver].append(message)
    }

    /// Removes the oldest message of the first link that has one, beginning with the chosen link.
    mutating func next(
        beginningWith choice: Int
    ) -> (message: Message, sender: Int, receiver: Int)? {
        for offset in queues.indices {
            let link = (choice + offset) % queues.count
            guard !queues[link].isEmpty else { continue }
            let message = queues[link].removeFirst()
            return (message, link / ModelLinks.shardCount, link % ModelLinks.shardCount)
        }
        return nil
    }
}
