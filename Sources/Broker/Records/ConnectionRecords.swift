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

    /// Returns the identity of an open connection; `nil` for any other.
    public typealias Identify = (SocketID) -> ConnectionRecord.Identity?

    /// Which connections are recorded.
    public let scope: Scope
    private let closedMax: Int
    /// No more of each than its connection does not know: they are many.
    private var open: [SocketID: RecordedSubscriptions] = [:]
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

    /// Whether an open connection is recorded.
    public func hasOpen(_ socketID: SocketID) -> Bool { !open.isEmpty && open[socketID] != nil }

    /// The record of a connection.
    public func record(of socketID: SocketID, _ identify: Identify) -> ConnectionRecord? {
        guard let recorded = open[socketID] else {
            return closedIndices[socketID].map { closed[$0] }
        }
        return identify(socketID).map { ConnectionRecord(identity: $0, recorded: recorded) }
    }

    /// The connections that are recorded, the open ones first.
    public var socketIDs: [SocketID] { Array(open.keys) + closed.map(\.identity.socketID) }

    // MARK: - Events

    /// Records a subscription that begins.
    public mutating func subscribed(_ subscription: SubscriptionRecord, _ socketID: SocketID) {
        open[socketID, default: RecordedSubscriptions(began: subscription.began)]
            .append(subscription)
    }

    /// Records the end of a subscription, after the last serial of the channel that the shard has sent.
    public mutating func unsubscribed(
        _ socketID: SocketID,
        from channel: ChannelName,
        at serial: UInt64,
        _ now: Int64
    ) {
        guard let place = open.index(forKey: socketID) else { return }
        open.values[place].end(channel, at: serial, now)
    }

    /// Records the end of a connection.
    ///
    /// `serials` returns the last serial of a channel that the shard has sent, and the first one that is dropped with
    /// the connection's queue.
    public mutating func closed(
        _ identity: ConnectionRecord.Identity,
        _ ending: ConnectionRecord.Ending,
        at now: Int64,
        serials: (ChannelName) -> (last: UInt64, droppedFrom: UInt64?)
    ) {
        guard var recorded = open.removeValue(forKey: identity.socketID) else { return }
        recorded.endAll(at: now, serials: serials)
        keep(ConnectionRecord(identity: identity, ending: (ending, now), recorded: recorded))
    }

    private mutating func keep(_ record: ConnectionRecord) {
        guard closedMax > 0 else { return }
        if closed.count < closedMax {
            closedIndices[record.identity.socketID] = closed.count
            closed.append(record)
            return
        }
        closedIndices[closed[nextClosed].identity.socketID] = nil
        closedIndices[record.identity.socketID] = nextClosed
        closed[nextClosed] = record
        nextClosed = (nextClosed + 1) % closedMax
    }

    /// Records that a client has got everything up to a position, in the stream's own ID, on this connection.
    ///
    /// `app` is that of whoever confirms it, and `appOf` returns that of an open connection: a record of another app
    /// stays as it is. The successor is the connection on which the client continues, if it does.
    public mutating func confirm(
        _ position: ChannelPosition,
        on channel: ChannelName,
        of socketID: SocketID,
        app: AppID,
        successor: SocketID? = nil,
        at now: Int64,
        appOf: (SocketID) -> AppID?
    ) {
        if let index = closedIndices[socketID] {
            guard closed[index].identity.app == app else { return }
            closed[index].recorded.confirm(position, on: channel, successor: successor, at: now)
        } else if let place = open.index(forKey: socketID), appOf(socketID) == app {
            open.values[place].confirm(position, on: channel, successor: successor, at: now)
        }
    }
}
