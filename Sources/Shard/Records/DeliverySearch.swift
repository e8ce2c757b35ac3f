package import Broker
package import PusherProtocol

/// A search in the records of a shard.
package struct DeliverySearch: Sendable {
    /// The connections to search.
    package enum Subject: Sendable {
        case socket(SocketID)
        case user(UserID)
        /// All connections; only the numbers are returned.
        case everyone
    }

    var address: ChannelAddress
    var message: TracedMessage
    var subject: Subject

    package init(
        address: ChannelAddress,
        message: TracedMessage,
        subject: Subject
    ) {
        self.address = address
        self.message = message
        self.subject = subject
    }
}

/// The result of a search in the records of a shard.
package struct DeliveryFindings: Sendable {
    /// The outcome of a message for one connection.
    package struct Finding: Sendable {
        package let record: ConnectionRecord
        package let verdict: DeliveryVerdict
        /// The subscription that proves the verdict.
        package let subscription: SubscriptionRecord?
    }

    /// The maximum number of connections of one user in an answer.
    static var connectionsMax: Int { 100 }

    /// The connections, in the order of their beginnings.
    package var connections: [Finding] = []
    /// The number of clients with each verdict.
    package var counts: [DeliveryVerdict: Int] = [:]

    package init() {}

    mutating func add(_ other: DeliveryFindings) {
        connections += other.connections
        counts.merge(other.counts, uniquingKeysWith: +)
    }

    /// Adds a record, if it matches the search.
    mutating func add(_ record: ConnectionRecord, _ search: DeliverySearch) {
        guard record.identity.app == search.address.app else { return }
        let (verdict, subscription) = record.verdict(of: search.message, on: search.address.name)
        if case .everyone = search.subject {
            // A client that continued on another connection is counted there.
            if verdict != .notSubscribed, subscription?.successor == nil {
                counts[verdict, default: 0] += 1
            }
        } else if connections.count < Self.connectionsMax {
            connections.append(
                Finding(record: record, verdict: verdict, subscription: subscription)
            )
        }
    }
}

/// A message between shards about connection records.
package enum DeliveryMessage: Sendable {
    /// To the shard of a connection: its client has got everything up to a position, and continues on another
    /// connection.
    case confirm(ChannelPosition, ChannelAddress, SocketID, successor: SocketID?)
    /// To a shard: search for the outcome of a message.
    case ask(DeliverySearch, id: QueryID, asker: Int)
    /// From a shard: its part of the answer.
    case answer(DeliveryFindings, id: QueryID)
}
