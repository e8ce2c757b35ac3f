internal import Broker
internal import Logging
internal import Primitives
internal import PusherProtocol
internal import SQLite
internal import Synchronization

/// The actor behind ``Webhooks``: queues events, and schedules and sends requests.
///
/// It works in turns. A turn is synchronous: it processes reports and due departures, closes batches, starts requests,
/// starts a write to the file, and sets the timer for the next turn. Requests, writes and the timer run concurrently,
/// and trigger a turn when they end.
actor Dispatcher {
    let settings: WebhookSettings
    let clock: any WebhookClock
    let log: Logger
    let tally = Tally()
    let reports: ReportQueue
    private let queuedEvents = Mutex<[QueuedEventMessage]>([])
    let plan: RetryPlan
    var random: any RandomNumberGenerator & Sendable
    var transport: (any WebhookTransport)?

    var endpoints: [EndpointKey: EndpointState] = [:]
    private var endpointsOfApp: [AppID: [EndpointState]] = [:]
    private var departures: DepartureDebouncer
    private var cacheMissFilter: CacheMissFilter
    var lastID: Int64 = 0
    var sends: [Int64: Task<Void, Never>] = [:]
    /// The events of other queues that are not settled.
    var openRequests: [QueuedEvent.ID: OpenRequests] = [:]
    /// The queues whose events another node sends.
    var withdrawnQueues: Set<Int> = []

    // The file, if there is one; see DispatcherFile.
    var journal: WebhookJournal?
    var pendingWrites: PendingWrites?
    var saving: Task<Void, Never>?
    /// The time of the next access to the file without changes: for a retry, or to look for replays.
    var nextSave: Int64 = 0
    var isFileFailing = false

    enum Phase { case created, running, stopping, stopped }
    private(set) var phase = Phase.created
    private var suppressesDepartures = false
    private let signals = AsyncStream.makeStream(
        of: Void.self,
        bufferingPolicy: .bufferingNewest(1)
    )
    private var turns: Task<Void, Never>?
    private var timer: (due: Int64, task: Task<Void, Never>)?
    private var stopContinuation: CheckedContinuation<Void, Never>?
    var deadLetterLog = LogRateLimiter()
    var dropLog = LogRateLimiter()

    init(
        settings: WebhookSettings,
        apps: [WebhookApp],
        log: Logger,
        clock: any WebhookClock,
        random: any RandomNumberGenerator & Sendable,
        transport: (any WebhookTransport)?
    ) {
        self.settings = settings
        self.log = log
        self.clock = clock
        self.random = random
        self.transport = transport
        reports = ReportQueue(
            countMax: settings.reportCountMax,
            lengthMax: settings.reportLengthMax
        )
        plan = RetryPlan(period: settings.retryPeriod.wholeMilliseconds)
        departures = DepartureDebouncer(
            delay: settings.absenceDelay.wholeMilliseconds,
            countMax: settings.absenceCountMax
        )
        cacheMissFilter = CacheMissFilter(countMax: settings.absenceCountMax)
        if let path = settings.path {
            journal = WebhookJournal(path: path, settings, log: log)
            pendingWrites = PendingWrites(
                deadLetterCountMax: settings.deadLetterCountMax,
                deadLetterLengthMax: settings.deadLetterLengthMax / 8
            )
        }
        (endpoints, endpointsOfApp) = Self.tables(of: apps, keeping: [:], settings)
    }

    /// Triggers a turn; from any thread.
    nonisolated func wake() { signals.continuation.yield() }

    /// Adds messages about events of other queues, and triggers a turn; from any thread.
    nonisolated func post(_ messages: [QueuedEventMessage]) {
        guard !messages.isEmpty else { return }
        queuedEvents.withLock { $0 += messages }
        wake()
    }

    /// The number of those messages that are not processed yet.
    nonisolated var messageCount: Int { queuedEvents.withLock { $0.count } }

    // MARK: Start and stop

    func start(refusesFileInUse: Bool) async throws(WebhooksError) {
        guard phase == .created else { return }
        if transport == nil {
            transport = try HTTPTransport(timeout: settings.timeout, trustFile: settings.trustFile)
        }
        // IDs of a run are consecutive, and those of a later run are higher, so the IDs give the order.
        lastID = clock.unixTime * 1_000
        do {
            try await exchangeWithFile()
            recordFileState(isFailing: false)
        } catch {
            if refusesFileInUse, case .held(let path, let holder) = error as? DatabaseLockError {
                await releaseFile()
                await transport?.close()
                transport = nil
                throw .fileInUse(path: path, holder: holder)
            }
            recordFileState(isFailing: true, "\(error)")
        }
        guard phase == .created else {
            // Stopped before there was anything to close.
            await releaseFile()
            await transport?.close()
            return
        }
        phase = .running
        turns = Task { [signals] in
            for await _ in signals.stream { turn() }
        }
        wake()
    }

    func stop(within limit: Duration) async {
        guard phase == .running else {
            phase = .stopped
            return
        }
        turn()
        phase = .stopping
        for state in endpoints.values { closeBatch(of: state) }
        turn()
        let deadline = Task { [clock, due = clock.uptime + limit.wholeMilliseconds] in
            guard (try? await clock.sleep(until: due)) != nil else { return }
            self.resumeStop()
        }
        if !sends.isEmpty { await withCheckedContinuation { stopContinuation = $0 } }
        deadline.cancel()
        phase = .stopped
        signals.continuation.finish()
        timer?.task.cancel()
        for task in sends.values { task.cancel() }
        for task in sends.values { await task.value }
        await closeFile()
        await transport?.close()
    }

    /// Drops all departures from now on.
    func suppressDepartures() { suppressesDepartures = true }

    /// The counts of each endpoint's webhooks, in no particular order.
    var endpointReports: [EndpointReport] { endpoints.values.map(\.report) }

    private func resumeStop() {
        stopContinuation?.resume()
        stopContinuation = nil
    }

    func replace(apps: [WebhookApp]) {
        let former = endpoints
        let (endpoints, endpointsOfApp) = Self.tables(of: apps, keeping: former, settings)
        for (key, state) in former where endpoints[key] == nil { closeBatch(of: state) }
        (self.endpoints, self.endpointsOfApp) = (endpoints, endpointsOfApp)
        for (key, state) in former where endpoints[key] == nil {
            for delivery in state.backlog.removeWaiting() {
                giveUp(delivery, .unconfigured, "the endpoint is no longer configured")
            }
        }
        turn()
    }

    /// Creates the tables of the configured apps; known endpoints keep their queues.
    private static func tables(
        of apps: [WebhookApp],
        keeping former: [EndpointKey: EndpointState],
        _ settings: WebhookSettings
    ) -> ([EndpointKey: EndpointState], [AppID: [EndpointState]]) {
        let states = apps.flatMap { app in
            app.keyedEndpoints.map { key, endpoint in
                let backlog = Backlog(
                    countMax: settings.queueCountMax,
                    lengthMax: settings.queueLengthMax,
                    sendsMax: settings.sendsMax
                )
                let state =
                    former[key]
                    ?? EndpointState(key: key, endpoint: endpoint, app: app, backlog: backlog)
                (state.endpoint, state.app) = (endpoint, app)
                return state
            }
        }
        let table = Dictionary(states.map { ($0.key, $0) }) { $1 }
        return (table, Dictionary(grouping: states, by: \.key.app))
    }

    // MARK: Turns

    /// Performs everything that is due.
    func turn() {
        guard phase == .running || phase == .stopping else { return }
        let (reports, dropped) = reports.take()
        if dropped > 0 { recordDrop(of: dropped) }
        for report in reports {
            notifyDepartures(until: report.uptime)
            if departures.process(report), cacheMissFilter.process(report) { notify(report) }
        }
        for message in queuedEvents.withLock({ exchange(&$0, with: []) }) { process(message) }
        let now = clock.uptime
        notifyDepartures(until: now)
        for state in endpoints.values {
            if let batch = state.batch, batch.due <= now { closeBatch(of: state) }
            sendReady(of: state, at: now)
        }
        save()
        let queued = endpoints.values.reduce(0) { $0 + $1.backlog.count }
        tally.update { [ownCount] in ($0.queued, $0.ownQueued) = (queued, ownCount) }
        if phase == .stopping, sends.isEmpty { resumeStop() }
        setTimer()
    }

    private func setTimer() {
        var due = min(sendsDepartures ? departures.nextDue() ?? .max : .max, nextFileDue ?? .max)
        for state in endpoints.values { due = min(due, state.nextDue) }
        if let timer {
            if timer.due == due { return }
            timer.task.cancel()
            self.timer = nil
        }
        guard due < .max else { return }
        let task = Task { [clock] in
            guard (try? await clock.sleep(until: due)) != nil else { return }
            self.timerFired(due)
        }
        timer = (due, task)
    }

    private func timerFired(_ due: Int64) {
        if timer?.due == due { timer = nil }
        turn()
    }

    /// At shutdown all clients disconnect and immediately reconnect elsewhere, so these departures must not be sent.
    private var sendsDepartures: Bool { phase == .running && !suppressesDepartures }

    private func notifyDepartures(until now: Int64) {
        guard sendsDepartures else { return }
        for report in departures.takeDue(at: now) { notify(report) }
    }

    private func notify(_ report: Report) {
        guard let kind = WebhookKind(report.event) else { return }
        distribute(kind, on: report.address, at: report.uptime) {
            WebhookBody.object(report.event, on: report.address.name)
        }
    }

    /// Adds an event to the queues of the endpoints that accept it.
    ///
    /// - Parameters:
    ///   - kind: The kind of its webhook.
    ///   - address: The channel.
    ///   - uptime: The time of its report, in milliseconds; `nil` for now.
    ///   - origin: The event in the queue that keeps it, if any.
    ///   - write: Writes the event as an element of `events`.
    func distribute(
        _ kind: WebhookKind,
        on address: ChannelAddress,
        at uptime: Int64? = nil,
        from origin: QueuedEvent? = nil,
        _ write: () -> [UInt8]
    ) {
        var written: [UInt8]?
        for state in endpointsOfApp[address.app] ?? []
        where state.filter.accepts(kind, on: address.name) {
            let object = written ?? write()
            written = object
            if let origin { openRequests[origin.id]?.count += 1 }
            let isBatched = state.endpoint.isBatching
            let length = state.batch.map { $0.events.count + object.count + 1 } ?? 0
            // Events batched before a reload that disabled batching are sent first.
            if !isBatched || length > settings.batchLengthMax { closeBatch(of: state) }
            let due = (uptime ?? clock.uptime) + settings.batchWindow.wholeMilliseconds
            var batch = state.batch.take() ?? Batch(due: due)
            batch.add(object, on: address.name.text, from: origin)
            if !isBatched || batch.count >= settings.batchCountMax {
                enqueue(batch, for: state.key)
            } else {
                state.batch = batch
            }
        }
    }

    private func closeBatch(of state: EndpointState) {
        if let batch = state.batch.take() { enqueue(batch, for: state.key) }
    }
}
