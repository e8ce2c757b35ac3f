public import Broker
public import Logging
internal import PusherProtocol

/// Sends webhooks to the backends of apps about events on their channels.
///
/// An observer of the broker: the homes of channels report events, which wait in a bounded queue for an actor that runs on
/// the threads of Swift's concurrency, never on a loop's.
public final class Webhooks: Sendable {
    private let reports: ReportQueue
    private let filter = EventFilter()
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
        filter.replace(apps: apps)
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
        filter.replace(apps: apps)
        await dispatcher.replace(apps: apps)
    }
}

extension Webhooks: BrokerObserver {
    /// The events that lead to webhooks of an app.
    public func observedKinds(of app: AppID?) -> BrokerEventKinds {
        app.map { filter.observedKinds(of: $0) } ?? []
    }

    /// Reports an event of a channel; called by the channel's home.
    ///
    /// It takes a short lock and never waits. When more than ``WebhookSettings/reportCountMax`` reports wait, the oldest is
    /// dropped and counted.
    public func observe(_ event: BrokerEvent, of app: AppID?) {
        guard case .channel(let event, let address) = event else { return }
        let report = Report(address: address, event: event, uptime: clock.uptime)
        if reports.post(report) { dispatcher.wake() }
    }
}
