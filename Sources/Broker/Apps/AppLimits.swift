public import PusherProtocol

/// The limits of an app's clients and backends.
///
/// The defaults are those of the Pusher documentation, or else high enough that only a mistake or an attack reaches
/// them.
public struct AppLimits: Sendable, Equatable {
    /// The limits of the protocol's texts: names, data, channels of a trigger, events of a batch.
    ///
    /// Data may be ten times as long as at the hosted service.
    public var texts = ProtocolLimits(dataLengthMax: 102_400)
    /// The maximum number of connections of the app; `nil` for the limit of the process.
    public var connectionsMax: Int?
    /// The maximum number of subscriptions of one connection; one more is refused, and the connection stays open.
    public var subscriptionsMax = 10_000
    /// The maximum number of members of one presence channel, each with any number of connections; one more user is
    /// refused.
    public var membersMax = 100
    /// The maximum length of a member's `user_info`, in bytes of JSON text.
    ///
    /// ``texts`` limits the user ID.
    public var userInfoLengthMax = 1_024
    /// The maximum number of users on a watchlist.
    ///
    /// A longer list is cut off, and the client receives error 4302.
    public var watchlistMax = 100
    /// The maximum number of cached events, one for each cache channel; one more evicts the oldest.
    public var cachedEventsMax = 10_000
    /// The maximum number of remembered idempotency keys; one more forgets the oldest.
    public var idempotencyKeysMax = 100_000
    /// The maximum size of all send queues of the app's clients, in bytes; `nil` for no limit of the app.
    public var queuedBytesMax: Int?
    /// The client events of one connection; one more is dropped, and its sender receives an error.
    public var clientEventRate = Rate(perSecond: 10)
    /// The subscriptions of one connection; one more is refused.
    ///
    /// `nil` for no limit.
    public var subscriptionRate: Rate?
    /// The requests of all backends of the app; one more is answered with 429.
    public var requestRates = RequestRates()
    /// The faulty messages per minute after which the connection is closed with 4100.
    public var faultsPerMinuteMax = 120

    /// Creates the default limits, and changes some.
    public init(_ change: (inout AppLimits) -> Void = { _ in }) { change(&self) }
}
