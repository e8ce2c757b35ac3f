public import PusherProtocol

/// What an app's clients and backends may use at the most.
///
/// The defaults are those of the Pusher documentation where it names one, and otherwise generous enough that only a
/// mistake or an attack meets them.
public struct AppLimits: Sendable, Equatable {
    /// The limits of the protocol's own texts: names, data, channels of a trigger, events of a batch.
    public var texts: ProtocolLimits
    /// Subscriptions of one connection at a time; one more is refused, and the connection stays open.
    public var subscriptionsMax: Int
    /// Members of one presence channel, each with any number of connections; one more user is refused.
    public var membersMax: Int
    /// The longest `user_info` of a member, in bytes of JSON text; the longest id is one of ``texts``.
    public var userInfoLengthMax: Int
    /// Users that one user may watch; of a longer list the first ones are taken, and the client is told 4302.
    public var watchlistMax: Int
    /// Events that the app's cache channels hold, one each; one more takes the place of the oldest.
    public var cachedEventsMax: Int
    /// What all that waits to be sent to the app's clients may hold of memory, in bytes; `nil` for no limit of its own.
    public var queuedBytesMax: Int?
    /// The client events of one connection; one more is dropped, and its sender is told.
    public var clientEventRate: Rate
    /// The subscriptions of one connection, or `nil` for any number; one more is refused.
    public var subscriptionRate: Rate?
    /// The requests of all the app's backends; one more is answered with 429.
    public var requestRates: RequestRates
    /// Messages a minute that break a rule of the protocol before the connection is closed with 4100.
    public var faultsPerMinuteMax: Int

    /// Makes limits, each with its default.
    public init(
        texts: ProtocolLimits = ProtocolLimits(),
        subscriptionsMax: Int = 10_000,
        membersMax: Int = 100,
        userInfoLengthMax: Int = 1_024,
        watchlistMax: Int = 100,
        cachedEventsMax: Int = 10_000,
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
        self.queuedBytesMax = queuedBytesMax
        self.clientEventRate = clientEventRate
        self.subscriptionRate = subscriptionRate
        self.requestRates = requestRates
        self.faultsPerMinuteMax = faultsPerMinuteMax
    }
}
