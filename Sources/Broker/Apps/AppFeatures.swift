/// What an app's clients may do, and what they are told.
public struct AppFeatures: Sendable, Equatable {
    /// Whether clients may send events to private and presence channels that they have joined.
    public var clientEvents: Bool
    /// Whether subscribers are told how many they are, on every channel but presence ones.
    ///
    /// Backends may ask for the number in any case.
    public var subscriptionCount: Bool
    /// Whether clients may sign in as users.
    public var users: Bool
    /// Whether users who sign in with a watchlist are told who on it comes and goes.
    public var watchlist: Bool
    /// How long a connection may take to prove that the app's backend knows it, in seconds; `nil` when it need not.
    public var authorizationTimeout: Int?
    /// How long a cache channel holds its event, in seconds.
    public var cacheLifetime: Int
    /// How long notices of arrivals and departures in a large presence channel may wait for others, in milliseconds; 0 for
    /// not at all.
    ///
    /// Each notice costs a send to every member; those that share a send cost hardly more than one.
    public var presenceNoticeDelay: Int

    /// Makes features, each with its default.
    public init(
        clientEvents: Bool = false,
        subscriptionCount: Bool = false,
        users: Bool = true,
        watchlist: Bool = false,
        authorizationTimeout: Int? = nil,
        cacheLifetime: Int = 1_800,
        presenceNoticeDelay: Int = 40
    ) {
        self.clientEvents = clientEvents
        self.subscriptionCount = subscriptionCount
        self.users = users
        self.watchlist = watchlist
        self.authorizationTimeout = authorizationTimeout
        self.cacheLifetime = cacheLifetime
        self.presenceNoticeDelay = presenceNoticeDelay
    }
}
