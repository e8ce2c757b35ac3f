public import RESP

/// The events of a ``RedisConnection``, on its loop's thread, in the order in which Redis has sent them.
public protocol RedisConnectionDelegate: AnyObject {
    /// Called once, when the handshake is complete: calls are possible from now on.
    func opened(_ connection: RedisConnection, server: RedisServer)

    /// Called with the reply to a call, or with the error in its place.
    ///
    /// Not called for successful subscriptions, nor for an error that ends the connection
    /// (``RedisError/endsConnection``), because its call counts as unanswered.
    ///
    /// - Parameters:
    ///   - reply: The reply, valid during the call.
    ///   - call: The call.
    ///   - connection: The connection; it can be closed and called here.
    func received(_ reply: borrowing RESPView, to call: CallID, on connection: RedisConnection)

    /// Called with a published message, or the confirmation of a subscription.
    ///
    /// A `sunsubscribe` also arrives without a call, when the channel's slot has moved to another server of a Redis
    /// Cluster.
    func received(push: borrowing RESPView, on connection: RedisConnection)

    /// Called once, as the last event; the delegate may open the next connection.
    ///
    /// Redis may or may not have executed the unanswered calls.
    func closed(_ connection: RedisConnection, _ fault: RedisFault, unanswered: Range<CallID>)
}
