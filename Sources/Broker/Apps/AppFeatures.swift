/// The features of an app's clients.
public struct AppFeatures: Sendable, Equatable {
    /// Whether clients may send events to private and presence channels that they are subscribed to.
    public var clientEvents = false
    /// Whether subscribers receive the number of subscribers, on every channel but presence channels.
    ///
    /// Backends may query the number in any case.
    public var subscriptionCount = false
    /// Whether clients may sign in as users.
    public var users = true
    /// Whether users that sign in with a watchlist receive its online and offline events.
    public var watchlist = false
    /// Whether a connection must be authorized by the app's backend, by a sign-in or a subscription, to stay open.
    public var authorizedConnections = false
    /// The time until such a connection must be authorized, in seconds.
    public var authorizationTimeout = 30
    /// The lifetime of a cache channel's event, in seconds.
    public var cacheLifetime = 1_800
    /// How long an event's idempotency key is remembered, in seconds.
    public var idempotencyAge = 600
    /// The maximum delay of membership notices in a large presence channel, in milliseconds; 0 for none.
    ///
    /// Each notice costs a send to every member. Delayed notices are coalesced into one send.
    public var presenceNoticeDelay = 40
    /// How long a member whose last connection has left stays a member, in seconds; 0 for not at all.
    ///
    /// A user that returns within this time has not left for the other members.
    public var presenceGrace = 3
    /// The seconds of silence after which a client that has signed in or subscribed to a presence channel is pinged, with
    /// a `pusher:ping`, which a frozen page does not answer; 0 for like other clients.
    public var presenceActivityTimeout = 60

    /// Creates the default features, and changes some.
    public init(_ change: (inout AppFeatures) -> Void = { _ in }) { change(&self) }

    /// The seconds within which a connection must be authorized; `nil` for no deadline.
    public var authorizationDeadline: Int? { authorizedConnections ? authorizationTimeout : nil }
}
