import Broker
import Net
import Primitives
import PusherProtocol

/// Limits the replays of one shard that clients have not received yet.
///
/// After an outage thousands of clients reconnect at once, each with a replay of up to a quarter of its queue. While
/// more than 16 MiB of replays wait in queues, no further one is requested: the subscriptions wait in the order of
/// their arrival. Messages with a place in a channel's order never wait.
///
/// After five seconds, unread replays of a client no longer count. Otherwise a few clients that do not read would delay
/// the recovery of all.
struct ReplayThrottle {
    /// A subscription that may get a replay.
    struct Request {
        let address: ChannelAddress
        let member: Member?
        let position: PositionRequest?
        let subscription: SubscriptionRequest
    }

    /// A subscription of a connection.
    private struct Key: Hashable {
        let socketID: SocketID
        let channel: ChannelName

        init(_ socketID: SocketID, _ channel: ChannelName) {
            self.socketID = socketID
            self.channel = channel
        }
    }

    /// The size of unsent replays above which none is requested, in bytes.
    static var unsentBytesMax: Int { 16 << 20 }
    /// How long the unsent replays of a connection count, in milliseconds.
    static var unsentTimeMax: Int64 { 5_000 }
    /// The expected size of a replay that is requested, in bytes.
    static var expectedBytes: Int { 64 << 10 }

    /// The waiting requests, by the order of their arrival; some have been withdrawn.
    private var line = Queue<(key: Key, number: UInt32)>()
    private var waiting: [Key: Request] = [:]
    /// The requests that no home has answered.
    private var pending: Set<Key> = []
    /// The size of the unsent replays of each connection, in bytes, and the time of the first.
    private var unsent: [SocketID: (byteCount: Int, since: Int64)] = [:]
    private var unsentByteCount = 0
    /// The connections with unsent replays, by the time of the first; some have none any more.
    private var unsentLine = Queue<(socketID: SocketID, since: Int64)>()
    /// The connections whose replays were written in this turn.
    private var written: [SocketID] = []

    /// The number of waiting requests.
    var waitingCount: Int { waiting.count }

    /// The number of requests that no home has answered.
    var pendingCount: Int { pending.count }

    /// The number of connections with unsent replays.
    var unsentCount: Int { unsent.count }

    /// Whether the throttle has neither requests nor replays.
    var isEmpty: Bool { waiting.isEmpty && pending.isEmpty && unsent.isEmpty }

    /// Whether a waiting request may be sent.
    var isReady: Bool { !waiting.isEmpty && hasRoom }

    private var hasRoom: Bool {
        unsentByteCount + pending.count * Self.expectedBytes <= Self.unsentBytesMax
    }

    // MARK: - Requests

    /// Adds a request to the end of the queue, unless it may be sent at once, and returns whether it waits.
    mutating func queueIfFull(_ request: Request) -> Bool {
        let key = Key(request.subscription.socketID, request.address.name)
        guard !waiting.isEmpty || !hasRoom else {
            pending.insert(key)
            return false
        }
        waiting[key] = request
        line.append((key, request.subscription.number))
        return true
    }

    /// Removes and returns the next request that may be sent.
    mutating func next() -> Request? {
        while isReady, let (key, number) = line.first {
            line.removeFirst()
            guard waiting[key]?.subscription.number == number,
                let request = removeWaiting(key)
            else { continue }
            pending.insert(key)
            return request
        }
        return nil
    }

    /// Withdraws a waiting request, which the home does not know of, and returns whether there was one.
    mutating func withdraw(_ socketID: SocketID, from channel: ChannelName) -> Bool {
        !waiting.isEmpty && removeWaiting(Key(socketID, channel)) != nil
    }

    private mutating func removeWaiting(_ key: Key) -> Request? {
        defer { if waiting.isEmpty { line = Queue() } }
        return waiting.removeValue(forKey: key)
    }

    /// Called when a home has answered a request.
    mutating func answered(_ socketID: SocketID, on channel: ChannelName) {
        if !pending.isEmpty { pending.remove(Key(socketID, channel)) }
    }

    // MARK: - Replays

    /// Called when a replay of this many bytes was written to a connection.
    ///
    /// `now` is the time in milliseconds of a steady clock.
    mutating func wrote(_ byteCount: Int, to socketID: SocketID, at now: Int64) {
        guard byteCount > 0 else { return }
        if unsent[socketID] == nil {
            written.append(socketID)
            unsentLine.append((socketID, now))
        }
        unsent[socketID, default: (0, now)].byteCount += byteCount
        unsentByteCount += byteCount
    }

    /// Called at the end of a turn, when queues have been written; `isSent` returns whether a connection has nothing
    /// queued.
    mutating func turnEnded(at now: @autoclosure () -> Int64, isSent: (SocketID) -> Bool) {
        guard !unsent.isEmpty else { return }
        let now = now()
        for socketID in exchange(&written, with: []) where isSent(socketID) { sent(socketID) }
        while let (socketID, since) = unsentLine.first {
            let isUnsent = unsent[socketID]?.since == since
            guard !isUnsent || now - since >= Self.unsentTimeMax else { break }
            unsentLine.removeFirst()
            if isUnsent { sent(socketID) }
        }
    }

    /// Called when a connection has nothing queued any more, has closed, or its replays no longer count.
    mutating func sent(_ socketID: SocketID) {
        guard !unsent.isEmpty, let replays = unsent.removeValue(forKey: socketID) else { return }
        unsentByteCount -= replays.byteCount
        if unsent.isEmpty { (unsentLine, written) = (Queue(), []) }
    }

    /// Drops everything, when the shard has stopped.
    mutating func removeAll() { self = ReplayThrottle() }
}

extension Grant {
    /// The size of the replayed messages, in bytes.
    var replayedByteCount: Int {
        let messages: [ReplayedMessage]
        switch self {
        case .live, .cached: return 0
        case .tracked(let replay, _, _):
            messages = replay.former.flatMap(\.messages) + replay.messages
        case .opened(let opened, _, _): messages = opened
        }
        return messages.reduce(0) { count, message in
            if case .envelope(let envelope) = message { count + envelope.byteCount } else { count }
        }
    }
}
