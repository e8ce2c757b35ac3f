internal import Broker
internal import Logging
internal import Primitives
internal import PusherProtocol
internal import SQLite

/// The actor behind ``Webhooks``: queues events, and schedules and sends requests.
///
/// It works in turns. A turn is synchronous: it processes reports and due departures, closes batches, starts requests,
/// starts a write to the file, and sets the timer for the next turn. Requests, writes and the timer run concurrently,
/// and trigger a turn when they end.
actor Dispatcher {
    let settings: WebhookSettings
    let clock: any WebhookClock
    let tally: Tally
    let log: Logger
    private let reports: ReportQueue
    private let queuedEvents: QueuedEventInbox
    let plan: RetryPlan
    var random: any RandomNumberGenerator & Sendable
    var transport: (any WebhookTransport)?

    var apps: [AppID: WebhookApp] = [:]
    var states: [EndpointKey: EndpointState] = [:]
    private var endpointsOfApp: [AppID: [EndpointKey]] = [:]
    private var departures: DepartureDebouncer
    private var cacheMissFilter: CacheMissFilter
    var lastID: Int64 = 0
    var sends: [Int64: Task<Void, Never>] = [:]
    /// The events of other queues that are not settled.
    var openRequests: [QueuedEvent.ID: OpenRequests] = [:]
    /// The queues whose events another node sends.
    var withdrawnQueues: Set<Int> = []

    // The file; see DispatcherFile.
    var pendingWrites: PendingWrites
    var queue: WebhookQueue?
    var lock: DatabaseLock?
    var saving: Task<Void, Never>?
    /// The time of the next access to the file without changes: for a retry, or to look for replays.
    var nextSave: Int64 = 0
    var isFileFailing = false
    /// Whether the open file is no longer at its path, and could not be recreated yet.
    var isFileMissing = false

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
        transport: (any WebhookTransport)?,
        reports: ReportQueue,
        queuedEvents: QueuedEventInbox,
        tally: Tally
    ) {
        self.settings = settings
        self.log = log
        self.clock = clock
        self.random = random
        self.transport = transport
        self.reports = reports
        self.queuedEvents = queuedEvents
        self.tally = tally
        plan = RetryPlan(period: settings.retryPeriod.wholeMilliseconds)
        departures = DepartureDebouncer(
            delay: settings.absenceDelay.wholeMilliseconds,
            countMax: settings.absenceCountMax
        )
        cacheMissFilter = CacheMissFilter(countMax: settings.absenceCountMax)
        pendingWrites = PendingWrites(
            deadLetterCountMax: settings.deadLetterCountMax,
            deadLetterLengthMax: settings.deadLetterLengthMax / 8
        )
        (self.apps, states, endpointsOfApp) = Self.tables(of: apps, keeping: [:], settings)
    }

    /// Triggers a turn; from any thread.
    nonisolated func wake() { signals.continuation.yield() }

    // MARK: Start and stop

    func start(refusesFileInUse: Bool) async throws(WebhooksError) {
        guard phase == .created else { return }
        if transport == nil {
            transport = try HTTPTransport(timeout: settings.timeout, trustFile: settings.trustFile)
        }
        do {
            try await lockFile()
            try await checkFileIsFree()
        } catch {
            if refusesFileInUse, case .held(let path, let holder) = error {
                await transport?.close()
                transport = nil
                throw .fileInUse(path: path, holder: holder)
            }
            // Opening the file logs the error, and retries.
        }
        // IDs of a run are consecutive, and those of a later run are higher, so the IDs give the order.
        lastID = clock.unixTime * 1_000
        await openFile()
        guard phase == .created else {
            // Stopped before there was anything to close.
            await queue?.close()
            (queue, lock) = (nil, nil)
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
        for key in Array(states.keys) { closeBatch(of: key) }
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

    /// Whether new webhooks can still be sent.
    var isRunning: Bool { phase == .running }

    private func resumeStop() {
        stopContinuation?.resume()
        stopContinuation = nil
    }

    func replace(apps: [WebhookApp]) {
        let kept = Set(apps.flatMap { app in app.keyedEndpoints.map { $0.0 } })
        for key in Array(states.keys) where !kept.contains(key) { closeBatch(of: key) }
        let former = states
        (self.apps, states, endpointsOfApp) = Self.tables(of: apps, keeping: former, settings)
        for (key, var state) in former where states[key] == nil {
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
    ) -> ([AppID: WebhookApp], [EndpointKey: EndpointState], [AppID: [EndpointKey]]) {
        var appTable: [AppID: WebhookApp] = [:]
        var states: [EndpointKey: EndpointState] = [:]
        var keys: [AppID: [EndpointKey]] = [:]
        for app in apps {
            appTable[app.id] = app
            for (key, endpoint) in app.keyedEndpoints {
                let backlog = Backlog(
                    countMax: settings.queueCountMax,
                    lengthMax: settings.queueLengthMax,
                    sendsMax: settings.sendsMax
                )
                var state = former[key] ?? EndpointState(endpoint: endpoint, backlog: backlog)
                state.endpoint = endpoint
                states[key] = state
                keys[app.id, default: []].append(key)
            }
        }
        return (appTable, states, keys)
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
        for message in queuedEvents.take() { process(message) }
        let now = clock.uptime
        notifyDepartures(until: now)
        for (key, state) in states where state.batch.map({ $0.due <= now }) == true {
            closeBatch(of: key)
        }
        // A copy of the keys: the dictionary's own keys would share its storage, and the first change would copy each
        // backlog.
        for key in Array(states.keys) { sendReady(of: key, at: now) }
        save()
        let backlogs = states.values.map(\.backlog)
        let queued = backlogs.reduce(0) { $0 + $1.count }
        let own = backlogs.reduce(0) { $0 + $1.ownCount }
        tally.update { ($0.queued, $0.ownQueued) = (queued, own) }
        if phase == .stopping, sends.isEmpty { resumeStop() }
        setTimer()
    }

    private func setTimer() {
        var due = min(sendsDepartures ? departures.nextDue() ?? .max : .max, nextFileDue ?? .max)
        for state in states.values { due = min(due, state.nextDue ?? .max) }
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
        guard let keys = endpointsOfApp[address.app] else { return }
        let channel = address.name
        var written: [UInt8]?
        for key in keys where states[key]?.endpoint.accepts(kind, on: channel) == true {
            let object = written ?? write()
            written = object
            if let origin { openRequests[origin.id]?.count += 1 }
            guard states[key]?.endpoint.isBatched == true else {
                // Events batched before a reload that disabled batching are sent first.
                closeBatch(of: key)
                let origins = origin.map { [$0.id] } ?? []
                enqueue(object, on: [channel.text], for: key, origins, at: origin?.time)
                continue
            }
            if let batch = states[key]?.batch,
                batch.events.count + object.count + 1 > settings.batchLengthMax
            {
                closeBatch(of: key)
            }
            let due = (uptime ?? clock.uptime) + settings.batchWindow.wholeMilliseconds
            if states[key]?.batch == nil { states[key]?.batch = Batch(due: due) }
            states[key]?.batch?.add(object, on: channel.text, from: origin)
            if let batch = states[key]?.batch, batch.count >= settings.batchCountMax {
                closeBatch(of: key)
            }
        }
    }

    private func closeBatch(of key: EndpointKey) {
        guard let batch = states[key]?.batch else { return }
        states[key]?.batch = nil
        enqueue(batch.events, on: batch.channels, for: key, batch.origins, at: batch.originTime)
    }
}
