import Broker
import Net
import PusherProtocol

/// The connection records of one shard, and the messages to other shards about theirs.
///
/// Only serials are recorded, when subscriptions begin and end, so an event costs nothing.
final class DeliveryRecords {
    private let context: ShardContext
    private let connections: Connections
    @exclusivity(unchecked) private var records: ConnectionRecords
    /// The data that open connections have sent about themselves with their subscriptions.
    @exclusivity(unchecked) private var claims: [SocketID: Claim] = [:]

    /// The data of a connection's subscription request.
    private struct Claim {
        /// The client's former connection.
        var predecessor: SocketID?
        /// The member of a presence channel.
        var user: UserID?
    }

    init(_ context: ShardContext, _ connections: Connections) {
        self.context = context
        self.connections = connections
        let settings = context.settings.connectionRecords
        records = ConnectionRecords(
            of: settings.scope,
            closedMax: (settings.closedMax + context.shardCount - 1) / context.shardCount
        )
    }

    /// The number of open connections that are recorded.
    var openCount: Int { records.openCount }

    /// The number of open connections that have named a former connection or a user.
    var claimCount: Int { claims.count }

    /// The record of a connection.
    func record(of socketID: SocketID) -> ConnectionRecord? {
        records.record(of: socketID, identity(of:))
    }

    /// The connections that are recorded, the open ones first.
    var socketIDs: [SocketID] { records.socketIDs }

    private func identity(of socketID: SocketID) -> ConnectionRecord.Identity? {
        connections[socketID].map { identity(of: $0, as: $0.user) }
    }

    /// The identity of a connection whose client has signed in as a user, if it has.
    private func identity(
        of connection: Connection,
        as user: UserID?
    ) -> ConnectionRecord.Identity {
        let socketID = connection.socketID
        return ConnectionRecord.Identity(
            socketID,
            of: connection.app.id,
            client: context.clientNames[connection.clientName],
            user: user ?? (claims.isEmpty ? nil : claims[socketID]?.user)
        )
    }

    // MARK: - Subscriptions

    /// Records the request of a client that tracks its position.
    ///
    /// The position confirms what the client has got before, on the connection that it names.
    func requested(
        _ connection: Connection,
        _ address: ChannelAddress,
        as member: Member?,
        from request: PositionRequest
    ) {
        let own = connection.socketID
        if let member { claims[own, default: Claim()].user = member.id }
        // The request of a client with a session token names all its connections, the present one last.
        let former = request.formerSocketIDs.last { $0 != own } ?? request.formerSocketID
        guard let socketID = former, let issued = request.position else { return }
        if socketID != own { claims[own, default: Claim()].predecessor = socketID }
        let position = connection.app.position(issuedAs: issued, on: address.name)
        let message = DeliveryMessage.confirm(
            position,
            address,
            socketID,
            successor: socketID == own ? nil : own
        )
        send(message, to: context.shard(of: socketID))
    }

    /// Records a granted subscription.
    func subscribed(_ connection: Connection, to channel: ChannelName, _ grant: Grant) {
        var start: SubscriptionStart?
        if case .tracked(let replay, _, _) = grant { start = replay.start }
        subscribed(connection, to: channel, at: start)
    }

    /// Records that a channel continues in another stream.
    func restarted(_ connection: Connection, on channel: Channel, at start: SubscriptionStart) {
        unsubscribed(connection.socketID, from: channel.name, at: channel.lastSerial)
        subscribed(connection, to: channel.name, at: start)
    }

    private func subscribed(
        _ connection: Connection,
        to channel: ChannelName,
        at issued: SubscriptionStart?
    ) {
        guard issued != nil || records.scope == .all else { return }
        var start = issued
        if let position = issued?.position {
            start?.position = connection.app.position(issuedAs: position, on: channel)
        }
        let socketID = connection.socketID
        let subscription = SubscriptionRecord(
            channel,
            start,
            predecessor: claims.isEmpty ? nil : claims[socketID]?.predecessor,
            at: context.milliseconds
        )
        records.subscribed(subscription, socketID)
    }

    /// Records the end of a subscription.
    func unsubscribed(_ socketID: SocketID, from channel: ChannelName, at serial: UInt64) {
        guard !records.isEmpty else { return }
        records.unsubscribed(socketID, from: channel, at: serial, context.milliseconds)
    }

    /// Records the end of a connection, before its subscriptions end.
    ///
    /// `user` is the one that the client had signed in as. `lastSerial` returns the last serial of a channel that this
    /// shard has sent.
    func closed(
        _ connection: Connection,
        as user: UserID?,
        _ ending: ConnectionRecord.Ending,
        lastSerial: (ChannelName) -> UInt64
    ) {
        defer { if !claims.isEmpty { claims[connection.socketID] = nil } }
        guard records.hasOpen(connection.socketID) else { return }
        var (dropped, areComplete) = ([String: UInt64](), true)
        if ending.dropsQueue {
            // Messages that wait in the groups of the channels are dropped with the queue.
            connection.stream.detachFromGroups()
            (dropped, areComplete) = connection.transport.queuedSerials()
        }
        let identity = identity(of: connection, as: user)
        records.closed(identity, ending, at: context.milliseconds) { channel in
            // If the queue cannot be read completely, everything unconfirmed counts as dropped.
            (lastSerial(channel), dropped[channel.text] ?? (areComplete ? nil : 0))
        }
    }

    // MARK: - Confirmations

    /// Records that a client of this shard has got everything up to a position, as its session confirms it.
    ///
    /// The position is in the stream's own ID. The successor is the connection on which the client continues, if it
    /// does.
    func confirm(
        _ position: ChannelPosition,
        on address: ChannelAddress,
        of socketID: SocketID,
        successor: SocketID? = nil
    ) {
        records.confirm(
            position,
            on: address.name,
            of: socketID,
            app: address.app,
            successor: successor,
            at: context.milliseconds
        ) { connections[$0]?.app.id }
    }

    /// Records what the client of a session token has confirmed.
    func confirmed(_ channels: [ChannelName], by connection: Connection) {
        guard !records.isEmpty else { return }
        for channel in channels {
            guard let issued = connection.confirmedPosition(in: channel) else { continue }
            let position = connection.app.position(issuedAs: issued, on: channel)
            let address = ChannelAddress(app: connection.app.id, name: channel)
            confirm(position, on: address, of: connection.socketID)
        }
    }

    private func send(_ message: DeliveryMessage, to shard: Int) {
        if shard != context.shard {
            context.links.send(.delivery(message), to: shard)
        } else if case .confirm(let position, let address, let socketID, let successor) = message {
            confirm(position, on: address, of: socketID, successor: successor)
        }
    }
}
