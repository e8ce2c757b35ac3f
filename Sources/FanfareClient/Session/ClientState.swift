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
    var queues = CallbackQueues()
    /// The executors of queues above their limit; while there are any, reading is paused.
    var overloaded: Set<ObjectIdentifier> = []
    var events = EventListeners()
    var statuses = Listeners<StatusChange>()
    var statusSequences = Listeners<ConnectionStatus>()
    var errors = Listeners<FanfareError>()
    var presence = ListenerTable<PresenceChange>()
    var signIns = Listeners<SignedInUser>()
    var watchlists = Listeners<WatchlistChange>()
    var watchlistSequences = Listeners<Watchlist>()
    /// Tasks that wait for a subscription, by channel.
    var waiters: [String: Listeners<Void>] = [:]
    /// Tasks that wait for the user to be signed in.
    var signInWaiters = Listeners<SignedInUser>()
    var log: [(Logger.Level, String)] = []

    /// A running alarm, with a number that distinguishes it from earlier ones.
    struct Alarm: Sendable {
        var number: Int
        var task: Task<Void, Never>
    }
}

/// A client's status before and after a change.
struct StatusChange: Sendable {
    let old: ConnectionStatus
    let new: ConnectionStatus
}
