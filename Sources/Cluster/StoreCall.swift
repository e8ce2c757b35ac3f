import RESP
import Redis

/// A call of a script or command on a store: who gets the reply, and what happens without one.
///
/// A value of at most three words costs no allocation.
protocol StoreCall {
    /// The messages that it publishes.
    var messages: [OutgoingMessage] { get }
    /// Whether it is the last call of a batch of messages.
    var endsBatch: Bool { get }
    /// Whether thousands of its kind may be pending at once, of which only a limited number is sent to Redis at a
    /// time.
    var isPaced: Bool { get }
    /// Whether it receives the reply of a store of a Redis Cluster that does not have its partition any more.
    var isFromAny: Bool { get }

    /// Receives the reply of the store that has the call's partition.
    func received(_ reply: borrowing RESPView, from store: ClusterStore)

    /// Receives the reply of a store of a Redis Cluster that does not have the call's partition, or not any more.
    func received(_ reply: borrowing RESPView, fromOther store: ClusterStore)

    /// Called when a server of a Redis Cluster refuses the call because it has the slot only partly or not at all.
    func redirected(by error: RedisError, from store: ClusterStore)

    /// Called when the reply is not used because the partition has moved away from a store.
    func partitionMoved(from store: ClusterStore)

    /// Called when nothing more follows from the call: who made it continues when there is a connection.
    func abandon()
}

extension StoreCall {
    var messages: [OutgoingMessage] { [] }

    var endsBatch: Bool { false }

    var isPaced: Bool { false }

    var isFromAny: Bool { false }

    func received(_ reply: borrowing RESPView, fromOther store: ClusterStore) {
        if isFromAny { received(reply, from: store) } else { partitionMoved(from: store) }
    }

    func redirected(by error: RedisError, from store: ClusterStore) { partitionMoved(from: store) }

    func partitionMoved(from store: ClusterStore) { abandon() }

    func abandon() {}
}

/// A call whose reply a closure receives; without one, nothing follows.
struct AwaitedCall: StoreCall {
    let isPaced: Bool
    let receive: (borrowing RESPView) -> Void

    init(isPaced: Bool = false, _ receive: @escaping (borrowing RESPView) -> Void) {
        (self.isPaced, self.receive) = (isPaced, receive)
    }

    func received(_ reply: borrowing RESPView, from store: ClusterStore) { receive(reply) }
}

/// A call that is repeated when no reply comes: one closure receives the reply, the other learns of its absence.
struct RepeatableCall: StoreCall {
    var isFromAny = false
    let receive: (borrowing RESPView) -> Void
    let giveUp: () -> Void

    func received(_ reply: borrowing RESPView, from store: ClusterStore) { receive(reply) }

    func abandon() { giveUp() }
}

/// A call whose reply is not awaited.
struct UnawaitedCall: StoreCall {
    var isPaced = false

    func received(_ reply: borrowing RESPView, from store: ClusterStore) {}
}
