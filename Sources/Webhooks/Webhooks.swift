public import Broker
public import Logging
internal import PusherProtocol

/// Tells the backends of apps what happens on their channels.
///
/// The broker creates one, hands it every channel's events, and forgets about them:
///
/// ```swift
/// let webhooks = Webhooks(settings: settings, apps: apps, log: log)
/// try await webhooks.start()
/// …
/// // On the loop of the channel's home, after the subscription was counted:
/// if webhooks.wants(.channelOccupied, of: app) { webhooks.report(.channelOccupied(channel), of: app) }
/// …
/// await webhooks.stop(within: .seconds(5))
/// ```
///
/// Behind it is an actor, which runs on the threads of Swift's concurrency and never on a loop's.
public final class Webhooks: Sendable {
    private let reports: ReportQueue
    private let interest = EventFilter()
    private let clock: any WebhookClock
    private let tally = Tally()
    let dispatcher: Dispatcher

    /// Prepares webhooks; nothing is sent before ``start()``.
    ///
    /// - Parameters:
    ///   - settings: Where they wait, how long and how many.
    ///   - apps: Whose they are, and where they go.
    ///   - log: Told of endpoints that fail, of dead letters and of a file that cannot be used.
    public convenience init(settings: WebhookSettings, apps: [WebhookApp], log: Logger) {
        self.init(
            settings: settings,
            apps: apps,
            log: log,
            clock: SystemClock(),
            random: SystemRandomNumberGenerator(),
            transport: nil
        )
    }

    /// Prepares webhooks with a given clock, source of jitter and transport.
    init(
        settings: WebhookSettings,
        apps: [WebhookApp],
        log: Logger,
        clock: any WebhookClock,
        random: any RandomNumberGenerator & Sendable,
        transport: (any WebhookTransport)?
    ) {
        let reports = ReportQueue(
            countMax: settings.reportCountMax,
            lengthMax: settings.reportLengthMax
        )
        self.reports = reports
        self.clock = clock
        dispatcher = Dispatcher(
            settings: settings,
            apps: apps,
            log: log,
            clock: clock,
            random: random,
            transport: transport,
            reports: reports,
            tally: tally
        )
        interest.replace(apps: apps)
    }

    /// What has become of webhooks so far.
    public var counters: WebhookCounters { tally.current }

    /// Begins to send: first what an earlier run has left in the file.
    ///
    /// Whatever was started has to be stopped once, with ``stop(within:)``.
    ///
    /// A file that cannot be opened stops nothing: webhooks then wait in memory, the log says so, and the file is tried
    /// again every few seconds.
    ///
    /// - Parameter refusesFileInUse: Whether a file that another broker uses is an error; otherwise it is one that cannot
    ///   be opened.
    /// - Throws: ``WebhooksError`` when the trusted certificates cannot be read, or another broker uses the file; nothing
    ///   has begun then, and it may be called again.
    public func start(refusesFileInUse: Bool = true) async throws(WebhooksError) {
        try await dispatcher.start(refusesFileInUse: refusesFileInUse)
    }

    /// Tells of departures no more; called when the broker begins to send its clients away.
    ///
    /// They come back elsewhere at once, or here after a restart: that nobody was there in between is nothing to tell.
    public func holdDepartures() async { await dispatcher.holdAbsences() }

    /// Ends: sends what is due, and leaves in the file what cannot be sent in time.
    ///
    /// Departures that are not yet told are forgotten, as with ``holdDepartures()``. What is reported from now on is
    /// ignored.
    ///
    /// - Parameter limit: How long requests may take; then the file is written.
    public func stop(within limit: Duration) async {
        reports.close()
        await dispatcher.stop(within: limit)
    }

    /// Takes apps and endpoints in the place of all earlier ones, as after a reload of the configuration.
    ///
    /// What waits for an endpoint that is not there any more becomes dead letters; an endpoint is the same when its app
    /// and its URL are.
    ///
    /// - Parameter apps: Whose webhooks there are, and where they go.
    public func replace(apps: [WebhookApp]) async {
        interest.replace(apps: apps)
        await dispatcher.replace(apps: apps)
    }

    /// Whether a report of this kind would change what an app's backend is told.
    ///
    /// It costs one read of an atomic where no app has webhooks, and otherwise a short lock: the broker asks before it
    /// puts an event together. Arrivals are wanted where departures are, and the other way round.
    ///
    /// - Parameters:
    ///   - kind: What would be reported.
    ///   - app: Whose channel it is.
    /// - Returns: Whether it is worth a ``report(_:of:)``.
    public func wants(_ kind: WebhookKind, of app: AppID) -> Bool {
        interest.covers(kind, of: app)
    }

    /// Reports something that happened on a channel; called by the channel's home, on whatever thread it lives.
    ///
    /// It never waits, and returns after a short lock. Report everything, in the order in which it happened and just as
    /// it is: a departure at once and not after a delay, the second miss of a cache like the first. That a channel is
    /// occupied before its first member is there, and vacated after the last has gone, is for the reporter to keep.
    /// Report `subscriptionCount` whenever a `subscription_count` event is sent, and `cacheFilled` when a cache that
    /// was empty gets an event. Channels of `#server-to-user-` have no webhooks; what is reported of them is ignored.
    ///
    /// When more than ``WebhookSettings/reportCountMax`` reports wait, the oldest is dropped and counted.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - app: Whose channel it is.
    public func report(_ event: WebhookEvent, of app: AppID) {
        guard event.channel.kind != .serverToUser, wants(event.kind, of: app) else { return }
        let report = Report(app: app, event: event, uptime: clock.uptime)
        if reports.post(report) { dispatcher.wake() }
    }
}
