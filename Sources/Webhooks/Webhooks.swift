public import Broker
public import Logging
internal import PusherProtocol

/// Sends webhooks about events on channels to the backends of apps.
///
/// An observer of the broker: the homes of channels report events into a bounded queue. An actor on the threads of
/// Swift concurrency, never on a loop's thread, processes them.
public final class Webhooks: Sendable {
    private let filter = EventFilter()
    let dispatcher: Dispatcher

    /// Creates the sender; nothing is sent before ``start()``.
    ///
    /// - Parameters:
    ///   - settings: Limits, delays and the file.
    ///   - apps: The apps and their endpoints.
    ///   - log: The log for failing endpoints, dead letters and a file that cannot be used.
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

    /// Creates the sender with a given clock, source of jitter and transport.
    init(
        settings: WebhookSettings,
        apps: [WebhookApp],
        log: Logger,
        clock: any WebhookClock,
        random: any RandomNumberGenerator & Sendable,
        transport: (any WebhookTransport)?
    ) {
        dispatcher = Dispatcher(
            settings: settings,
            apps: apps,
            log: log,
            clock: clock,
            random: random,
            transport: transport
        )
        filter.replace(apps: apps)
    }

    /// The current statistics.
    public var counters: WebhookCounters { dispatcher.tally.current }

    /// The counts of each endpoint's webhooks, in no particular order.
    public func endpointReports() async -> [EndpointReport] { await dispatcher.endpointReports }

    /// Starts sending, beginning with the webhooks that an earlier run has left in the file.
    ///
    /// Each start needs one ``stop(within:)``.
    ///
    /// If the file cannot be opened, webhooks wait in memory, the log contains the error, and opening is retried every
    /// few seconds.
    ///
    /// - Parameter refusesFileInUse: Whether a file used by another broker is an error; otherwise it is handled like
    ///   one that cannot be opened.
    /// - Throws: ``WebhooksError`` if the trusted certificates cannot be read, or another broker uses the file. Then
    ///   nothing has started, and the call may be repeated.
    public func start(refusesFileInUse: Bool = true) async throws(WebhooksError) {
        try await dispatcher.start(refusesFileInUse: refusesFileInUse)
    }

    /// Drops departures from now on; called when the broker begins to disconnect its clients.
    ///
    /// They immediately reconnect elsewhere, or here after a restart, so such departures must not be sent.
    public func suppressDepartures() async { await dispatcher.suppressDepartures() }

    /// Stops: sends everything that is due, and leaves the rest in the file.
    ///
    /// Pending departures are dropped, as with ``suppressDepartures()``. Later reports are ignored.
    ///
    /// - Parameter limit: The time limit for requests; then the file is written.
    public func stop(within limit: Duration) async {
        dispatcher.reports.close()
        await dispatcher.stop(within: limit)
    }

    /// Replaces all apps and endpoints, as after a reload of the configuration.
    ///
    /// The queued webhooks of a removed endpoint become dead letters; app and URL identify an endpoint.
    ///
    /// - Parameter apps: The apps and their endpoints.
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

    /// Queues an event of a channel; called by the channel's home.
    ///
    /// It takes a short lock and never waits. Above ``WebhookSettings/reportCountMax`` reports, the oldest is dropped
    /// and counted.
    public func observe(_ event: BrokerEvent, of app: AppID?) {
        guard case .channel(let event, let address) = event else { return }
        let report = Report(address: address, event: event, uptime: dispatcher.clock.uptime)
        if dispatcher.reports.post(report) { dispatcher.wake() }
    }
}

extension Webhooks {
    /// Sends the webhooks of events, in their order; an event in progress is not sent twice.
    ///
    /// It takes a short lock and never waits. The caller limits the events in progress by ``queuedEventCount``.
    public func send(_ events: [QueuedEvent]) { dispatcher.post(events.map { .event($0) }) }

    /// Stops sending the webhooks of events from these queues, which another node may have taken over.
    ///
    /// Requests in flight are completed, and not repeated.
    public func withdraw(queues: Set<Int>) {
        if !queues.isEmpty { dispatcher.post([.withdrawal(queues: queues)]) }
    }

    /// The number of sent events that are not processed yet.
    public var queuedEventCount: Int { dispatcher.messageCount }
}
