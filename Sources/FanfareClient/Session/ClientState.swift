import Logging

/// A client's state, under its lock.
struct ClientState: Sendable {
    var session: ClientSession
    var connection: (any TransportConnection)?
    var connectionNumber = 0
    var timer: Task<Void, Never>?
    var timerNumber = 0
    var alarms: [SessionAlarm: Alarm] = [:]
    var alarmNumber = 0
    var requests = BackendRequests()
    var leases = Leases()
    var queues = CallbackQueues()
    /// The callback queues that are too long; while there are any, reading from the connection is paused.
    var overloaded: Set<ObjectIdentifier> = []
    var slowReaders = SlowReaders()
    var events = EventListeners()
    var continuities = ListenerTable<String, Listeners<Continuity>>()
    /// The position that the app has handled, by channel.
    var handled: [String: HandledPosition] = [:]
    /// The message that was delivered last by the current input.
    var handling: (channel: String, handling: Handling)?
    var statuses = Listeners<StatusChange>()
    var statusSequences = EventBuffers<ConnectionStatus>()
    var errors = Listeners<FanfareError>()
    var presence = ListenerTable<String, Listeners<PresenceChange>>()
    var rosters = ListenerTable<String, EventBuffers<PresenceRoster>>()
    var signIns = Listeners<SignedInUser>()
    var watchlists = Listeners<WatchlistChange>()
    /// Tasks that wait for a subscription, by channel.
    var waiters: [String: EventBuffers<Void>] = [:]
    /// The client events whose outcome is pending, by key.
    var pendingEvents: [String: PendingEvent] = [:]
    /// Tasks that wait for the user to be signed in.
    var signInWaiters = EventBuffers<SignedInUser>()
    /// The observer of the network, between `connect()` and `disconnect()` or `suspend()`.
    var network: (any Sendable)?
    var log: [(Logger.Level, String)] = []

    /// The error that ends a new sequence of a channel: the client has failed, or the subscription was refused.
    func ending(of channel: String?) -> FanfareError? {
        if case .failed(let error) = session.status { return error }
        guard let channel, session.subscription(to: channel) == .refused else { return nil }
        return session.subscriptions[of: channel]?.refusal
    }

    /// A running alarm, with a number that distinguishes it from earlier ones.
    struct Alarm: Sendable {
        var number: Int
        var task: Task<Void, Never>
    }
}
