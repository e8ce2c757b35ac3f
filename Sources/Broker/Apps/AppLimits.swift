public import PusherProtocol

/// The limits of an app's clients and backends.
///
/// The defaults are those of the Pusher documentation, or else high enough that only a mistake or an attack reaches
/// them.
public struct AppLimits: Sendable, Equatable {
    /// The limits of the protocol's texts: names, data, channels of a trigger, events of a batch.
    public var texts: ProtocolLimits
    /// The maximum number of subscriptions of one connection; one more is refused, and the connection stays open.
    public var subscriptionsMax: Int
    /// The maximum number of members of one presence channel, each with any number of connections; one more user is
    /// refused.
    public var membersMax: Int
    /// The maximum length of a member's `user_info`, in bytes of JSON text.
    ///
    /// ``texts`` limits the user ID.
    public var userInfoLengthMax: Int
    /// The maximum number of users on a watchlist.
    ///
    /// A longer list is cut off, and the client receives error 4302.
    public var watchlistMax: Int
    /// The maximum number of cached events, one for each cache channel; one more evicts the oldest.
    public var cachedEventsMax: Int
    /// The maximum number of remembered idempotency keys; one more forgets the oldest.
    public var idempotencyKeysMax: Int
    /// The maximum size of all send queues of the app's clients, in bytes; `nil` for no limit of the app.
    public var queuedBytesMax: Int?
    /// The client events of one connection; one more is dropped, and its sender receives an error.
    public var clientEventRate: Rate
    /// The subscriptions of one connection; one more is refused.
    ///
    /// `nil` for no limit.
    public var subscriptionRate: Rate?
    /// The requests of all backends of the app; one more is answered with 429.
    public var requestRates: RequestRates
    /// The faulty messages per minute after which the connection is closed with 4100.
    public var faultsPerMinuteMax: Int

    /// Creates limits, with defaults.
    public init(
        texts: ProtocolLimits = ProtocolLimits(),
        subscriptionsMax: Int = 10_000,
        membersMax: Int = 100,
        userInfoLengthMax: Int = 1_024,
        watchlistMax: Int = 100,
        cachedEventsMax: Int = 10_000,
        idempotencyKeysMax: Int = 100_000,
        queuedBytesMax: Int? = nil,
        clientEventRate: Rate = Rate(perSecond: 10),
        subscriptionRate: Rate? = nil,
        requestRates: RequestRates = RequestRates(),
        faultsPerMinuteMax: Int = 120
    ) {
        self.texts = texts
        self.subscriptionsMax = subscriptionsMax
        self.membersMax = membersMax
        self.userInfoLengthMax = userInfoLengthMax
        self.watchlistMax = watchlistMax
        self.cachedEventsMax = cachedEventsMax
        self.idempotencyKeysMax = idempotencyKeysMax
        self.queuedBytesMax = queuedBytesMax
        self.clientEventRate = clientEventRate
        self.subscriptionRate = subscriptionRate
        self.requestRates = requestRates
        self.faultsPerMinuteMax = faultsPerMinuteMax
    }
}
