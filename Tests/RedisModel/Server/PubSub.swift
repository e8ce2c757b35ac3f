import RESP

// Published messages.
extension ModelServer {
    /// Subscribes or unsubscribes, with a push for each channel.
    mutating func changeSubscriptions(
        _ command: String,
        _ channels: [ByteString],
        of connection: Connection
    ) {
        for channel in channels {
            let topic = ModelSubscriptions.Topic(
                name: channel,
                isSharded: command.first == "s" && command.dropFirst().hasPrefix("s")
                    || command == "sunsubscribe"
            )
            if command.hasSuffix("unsubscribe") {
                subscriptions.remove(connection, from: topic)
            } else {
                subscriptions.add(connection, to: topic)
            }
            let count = subscriptions.count(of: connection, isSharded: topic.isSharded)
            let push: [RESPValue] = [.bulk(ByteString(command)), .bulk(channel), .integer(count)]
            send(.list(.push, push), to: connection)
        }
    }

    /// Publishes a message; returns the number of subscribers.
    mutating func publish(_ text: ByteString, on channel: ByteString, isSharded: Bool) -> Int {
        let topic = ModelSubscriptions.Topic(name: channel, isSharded: isSharded)
        let subscribers = subscriptions.subscribers(to: topic)
        let kind: ByteString = isSharded ? "smessage" : "message"
        for connection in subscribers {
            send(.list(.push, [.bulk(kind), .bulk(channel), .bulk(text)]), to: connection)
        }
        return subscribers.count
    }
}

/// Who is subscribed to what.
struct ModelSubscriptions: Sendable {
    struct Topic: Hashable, Sendable {
        var name: ByteString
        /// Whether it belongs to `SSUBSCRIBE` and `SPUBLISH`.
        var isSharded: Bool
    }

    private var subscribers: [Topic: Set<Int>] = [:]
    private var topics: [Int: Set<Topic>] = [:]

    mutating func add(_ connection: Int, to topic: Topic) {
        subscribers[topic, default: []].insert(connection)
        topics[connection, default: []].insert(topic)
    }

    mutating func remove(_ connection: Int, from topic: Topic) {
        subscribers[topic]?.remove(connection)
        if subscribers[topic]?.isEmpty == true { subscribers[topic] = nil }
        topics[connection]?.remove(topic)
    }

    mutating func remove(_ connection: Int) {
        for topic in topics.removeValue(forKey: connection) ?? [] {
            remove(connection, from: topic)
        }
        topics[connection] = nil
    }

    /// The subscribers in the order of their numbers.
    func subscribers(to topic: Topic) -> [Int] { subscribers[topic]?.sorted() ?? [] }

    func count(of connection: Int, isSharded: Bool) -> Int {
        topics[connection]?.count { $0.isSharded == isSharded } ?? 0
    }
}
