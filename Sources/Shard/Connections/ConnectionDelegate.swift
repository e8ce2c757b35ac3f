import Broker
import Net
import PusherProtocol

/// Performs the requests of a client's connection; implemented by the connection's shard.
protocol ConnectionDelegate: AnyObject {
    /// Called for every read, before its messages are processed.
    func connectionReceived(_ connection: Connection)

    /// Called when the client has answered a `pusher:ping`.
    func connectionReceivedPong(_ connection: Connection)

    /// Requests a subscription from the channel's home; `Connection.granted` or `Connection.refused` follows.
    func connection(
        _ connection: Connection,
        subscribesTo channel: ChannelName,
        as member: Member?,
        from position: PositionRequest?,
        request: UInt32
    )

    /// Claims the session of the client's token; `Connection.receive` of the answer follows.
    func connection(_ connection: Connection, claims claim: SessionClaim)

    /// Called when the client of a superseded connection has answered a ping.
    func connection(_ connection: Connection, isAliveIn session: SessionAddress)

    /// Called when the client of a session token has confirmed messages of these channels.
    func connection(_ connection: Connection, hasConfirmed channels: [ChannelName])

    /// Called when the position of a client with a token is kept in a further channel, or in another stream.
    func connectionKeepsAnotherPosition(_ connection: Connection)

    /// Called when a client with a token has got something that it has to confirm.
    func connectionHasUnconfirmed(_ connection: Connection)
    /// Called when a grant was written with something that the client has to confirm.
    func connectionHasUnconfirmedGrant(_ connection: Connection)
    /// Called when a long part of a replay was written and further parts follow; the client has to confirm it.
    func connectionHasReplayPart(_ connection: Connection)

    /// Ends a subscription or a pending request, here and at the channel's home.
    func connection(_ connection: Connection, unsubscribesFrom channel: ChannelName)

    /// Sends an event that the session has accepted to the channel's home.
    ///
    /// - Returns: The limit that prevents it, if any.
    func connection(
        _ connection: Connection,
        publishes event: ClientEvent,
        on channel: ChannelName
    ) -> Limit?

    /// Counts the connection as signed in.
    func connection(_ connection: Connection, signsInAs user: UserID)

    /// Subscribes the connection to the online status of these users.
    func connection(_ connection: Connection, watches users: [UserID])

    /// Ends the subscription to the online status of these users.
    func connection(_ connection: Connection, unwatches users: [UserID])

    /// Cancels the deadline by which the connection had to be authorized.
    func connectionIsAuthorized(_ connection: Connection)

    /// Records the bytes that a partially received message of the connection takes; `nil` when there is none any more.
    func connection(_ connection: Connection, holdsIncompleteMessage byteCount: Int?)

    /// Called when the connection starts to close: ends its subscriptions and signs it out.
    func connectionIsClosing(
        _ connection: Connection,
        _ registrations: Session.Registrations,
        _ ending: ConnectionRecord.Ending
    )

    /// Called when nothing is queued any more, after the kernel had refused bytes.
    func connectionDrained(_ connection: Connection)

    /// Called when the stream has ended; the connection is not used afterwards.
    func connectionClosed(_ connection: Connection)

    /// The memory budget that the queues of an app's clients share on this shard.
    func queueBudget(of app: App) -> MemoryBudget
}
