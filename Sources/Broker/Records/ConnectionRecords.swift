public import PusherProtocol

/// The records of one shard's connections: all open ones, and the last closed ones.
///
/// All times are milliseconds of one steady clock.
public struct ConnectionRecords: Sendable {
    /// Which connections are recorded.
    public enum Scope: String, Sendable, CaseIterable {
        /// Those that track their position on a channel.
        case tracked
        /// Those with a subscription.
        case all
    }

    /// Which connections are recorded; the records answer why a client did not get a message.
    public struct Settings: Sendable, Hashable {
        /// Which connections are recorded.
        public var scope = Scope.tracked
        /// The maximum number of closed connections that are recorded; one more forgets the oldest.
        public var closedMax = 10_000

        /// Creates the default: connections that track their positions, the last 10,000 behind their end.
        public init() {}
    }

    /// Which connections are recorded.
    public let scope: Scope
    private let closedMax: Int
    private var open: [SocketID: ConnectionRecord] = [:]
    /// A ring once it is full.
    private var closed: [ConnectionRecord] = []
    private var nextClosed = 0
    private var closedIndices: [SocketID: Int] = [:]

    /// Creates empty records of this scope.
    ///
    /// - Parameters:
    ///   - scope: The connections to record.
    ///   - closedMax: The maximum number of closed connections; one more drops the oldest.
    public init(of scope: Scope = .tracked, closedMax: Int = 10_000) {
        self.scope = scope
        self.closedMax = closedMax
    }

    /// Whether no open connection is recorded.
    public var isEmpty: Bool { open.isEmpty }

    /// The number of open connections that are recorded.
    public var openCount: Int { open.count }

    /// The number of closed connections that are recorded.
    public var closedCount: Int { closed.count }

    /// The record of a connection.
    public subscript(socketID: SocketID) -> ConnectionRecord? {
        open[socketID] ?? closedIndices[socketID].map { closed[$0] }
    }

    /// All records, those of open connections first.
    public var all: [ConnectionRecord] { Array(open.values) + closed }

    // MARK: - Events

    /// Records a subscription that begins; `make` makes the record of the connection if this is its first.
    public mutating func subscribed(
        _ subscription: SubscriptionRecord,
        _ socketID: SocketID,
        make: () -> ConnectionRecord
    ) {
        open[socketID, default: make()].append(subscription)
    }

    /// Records the user of a connection.
    public mutating func identify(_ socketID: SocketID, as user: UserID) {
        open[socketID]?.user = user
    }

    /// Records the end of a subscription, after the last serial of the channel that the shard has sent.
    public mutating func unsubscribed(
        _ socketID: SocketID,
        from channel: ChannelName,
        at serial: UInt64,
        _ now: Int64
    ) {
        guard let place = open.index(forKey: socketID),
            let index = open.values[place].lasting(channel)
        else { return }
        open.values[place].subscriptions[index].end(at: serial, now)
    }

    /// Records the end of a connection.
    ///
    /// `serials` returns the last serial of a channel that the shard has sent, and the first one that is dropped with
    /// the connection's queue.
    public mutating func closed(
        _ socketID: SocketID,
        _ ending: ConnectionRecord.Ending,
        at now: Int64,
        serials: (ChannelName) -> (last: UInt64, droppedFrom: UInt64?)
    ) {
        guard var record = open.removeValue(forKey: socketID) else { return }
        record.ending = (ending, now)
        for index in record.subscriptions.indices where record.subscriptions[index].ended == nil {
            let (last, droppedFrom) = serials(record.subscriptions[index].channel)
            record.subscriptions[index].end(at: last, droppedFrom: droppedFrom, now)
        }
        keep(record)
    }

    private mutating func keep(_ record: ConnectionRecord) {
        guard closedMax > 0 else { return }
        if closed.count < closedMax {
            closedIndices[record.socketID] = closed.count
            closed.append(record)
            return
        }
        closedIndices[closed[nextClosed].socketID] = nil
        closedIndices[record.socketID] = nextClosed
        closed[nextClosed] = record
        nextClosed = (nextClosed + 1) % closedMax
    }

    /// Records that a client has got everything up to a position, in the stream's own ID, on this connection.
    ///
    /// The successor is the connection on which the client continues, if it does.
    public mutating func confirm(
        _ position: ChannelPosition,
        on channel: ChannelName,
        of socketID: SocketID,
        app: AppID,
        successor: SocketID? = nil,
        at now: Int64
    ) {
        func change(_ record: inout ConnectionRecord) {
            guard record.app == app,
                let index = record.subscriptions.lastIndex(where: {
                    $0.channel == channel && $0.stream == position.stream
                        && $0.start <= position.serial
                })
            else { return }
            record.subscriptions[index].confirm(position.serial, successor: successor, at: now)
        }
        if let index = closedIndices[socketID] {
            change(&closed[index])
        } else if let place = open.index(forKey: socketID) {
            change(&open.values[place])
        }
    }
}
