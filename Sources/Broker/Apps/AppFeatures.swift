/// The features of an app's clients.
public struct AppFeatures: Sendable, Equatable {
    /// Whether clients may send events to private and presence channels that they are subscribed to.
    public var clientEvents: Bool
    /// Whether subscribers receive the number of subscribers, on every channel but presence channels.
    ///
    /// Backends may query the number in any case.
    public var subscriptionCount: Bool
    /// Whether clients may sign in as users.
    public var users: Bool
    /// Whether users that sign in with a watchlist receive its online and offline events.
    public var watchlist: Bool
    /// The seconds within which a connection must be authorized; `nil` for no deadline.
    public var authorizationTimeout: Int?
    /// The lifetime of a cache channel's event, in seconds.
    public var cacheLifetime: Int
    /// How long an event's idempotency key is remembered, in seconds.
    public var idempotencyAge: Int
    /// The maximum delay of membership notices in a large presence channel, in milliseconds; 0 for none.
    ///
    /// Each notice costs a send to every member. Delayed notices are coalesced into one send.
    public var presenceNoticeDelay: Int

    /// Creates features, with defaults.
    public init(
        clientEvents: Bool = false,
        subscriptionCount: Bool = false,
        users: Bool = true,
        watchlist: Bool = false,
        authorizationTimeout: Int? = nil,
        cacheLifetime: Int = 1_800,
        idempotencyAge: Int = 600,
        presenceNoticeDelay: Int = 40
    ) {
        self.clientEvents = clientEvents
        self.subscriptionCount = subscriptionCount
        self.users = users
        self.watchlist = watchlist
        self.authorizationTimeout = authorizationTimeout
        self.cacheLifetime = cacheLifetime
        self.idempotencyAge = idempotencyAge
        self.presenceNoticeDelay = presenceNoticeDelay
    }
}
