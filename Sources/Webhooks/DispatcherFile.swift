internal import Broker
internal import Logging
internal import Primitives
internal import SQLite

/// The actor's access to the file: one transaction at a time, concurrent with its turns, which never wait for it.
extension Dispatcher {
    /// The time until a retry after a failure, and between checks for replays, in milliseconds.
    static let failurePause: Int64 = 5_000
    static let replayPause: Int64 = 2_000
    /// The maximum number of dead letters replayed at a time.
    static let replayCountMax = 100

    /// The time of the next access to the file without changes; `nil` during an access, and without endpoints.
    var nextFileDue: Int64? {
        saving == nil && !(states.isEmpty && pendingWrites.isEmpty) ? nextSave : nil
    }

    /// Opens the file and loads its webhooks, left by an earlier run or added meanwhile.
    func openFile() async {
        do {
            try await lockFile()
            let queue = try await WebhookQueue.open(path: settings.path)
            try await importRescued(into: queue)
            try await load(queue)
            recordFileState(isFailing: false)
            if isFileMissing { log.notice("the webhook file is recreated", metadata: path) }
            isFileMissing = false
        } catch {
            recordFileState(isFailing: true, "\(error)")
        }
        nextSave = clock.uptime + (queue == nil ? Self.failurePause : 0)
    }

    /// Uses `queue` as the current file, and synchronizes its content with the webhooks in memory.
    private func load(_ queue: WebhookQueue) async throws {
        let known = Set(waiting.map(\.id))
        let (stored, others, damagedCount) = try await queue.deliveries(except: known)
        recordDamaged(damagedCount)
        advanceID(beyond: try await queue.lastID())
        self.queue = queue
        if settings.path != nil {
            pendingWrites.reconcile(waiting: waiting, known: known, stored: stored)
        }
        let found = others.filter { !pendingWrites.isFinished($0.id) }
        for var delivery in found {
            // The uptime of another run is unknown, so only the calendar gives the age. The calendar may have been set
            // back.
            delivery.birth = clock.uptime - max(0, clock.unixTime - delivery.time)
            append(delivery)
        }
        if !found.isEmpty {
            log.info(
                "sending the webhooks of an earlier run",
                metadata: ["count": "\(found.count)"]
            )
        }
    }

    /// Writes changes, unless a write is in progress or has just failed.
    func save() {
        let now = clock.uptime
        let isDue = now >= nextSave || (!pendingWrites.isEmpty && !isFileFailing)
        guard saving == nil, isDue else { return }
        nextSave = now + Self.replayPause
        saving = Task {
            await self.write()
            self.saving = nil
            self.wake()
        }
    }

    /// Writes the last changes, and closes the file.
    func closeFile() async {
        await saving?.value
        if settings.path != nil || !pendingWrites.isEmpty { await write() }
        // The first write may have recreated the file.
        if settings.path != nil, !pendingWrites.isEmpty, !isFileFailing { await write() }
        let isSaved = settings.path != nil && !isFileFailing && pendingWrites.isEmpty
        await queue?.close()
        queue = nil
        lock = nil
        let count = waiting.count
        guard !isSaved, count > 0 else { return }
        log.error(
            "webhooks are lost: they were only in memory",
            metadata: ["count": "\(count)", "webhooks": "\(waitingText)"]
        )
    }

    private func write() async {
        guard let queue else { return await openFile() }
        guard await queue.isInPlace() else { return await restoreFile(from: queue) }
        isFileMissing = false
        do {
            try await lockFile()
        } catch {
            nextSave = clock.uptime + Self.failurePause
            return recordFileState(isFailing: true, "\(error)")
        }
        let changes = pendingWrites.take()
        do {
            try await apply(changes, to: queue)
            recordFileState(isFailing: false)
            guard isRunning else { return }
            let (letters, damaged) = try await queue.replays(countMax: Self.replayCountMax)
            recordDamaged(damaged.count)
            for id in damaged { pendingWrites.replay(id) }
            guard isRunning else { return }
            for letter in letters {
                pendingWrites.replay(letter.id)
                enqueue(letter.events, on: letter.channels, for: letter.endpoint)
            }
            // There may be more.
            if letters.count + damaged.count == Self.replayCountMax { nextSave = clock.uptime }
        } catch {
            nextSave = clock.uptime + Self.failurePause
            recordFileState(isFailing: true, "\(error)")
            guard WebhookQueue.isBroken(error) else { return }
            // The retry opens the file that is at the path then, and writes all queued webhooks.
            await queue.close()
            self.queue = nil
        }
    }

    private func apply(_ changes: PendingWrites.Changes, to queue: WebhookQueue) async throws {
        var changes = changes
        if settings.path == nil {
            // In memory the webhooks are already queued.
            changes.deliveries = [:]
            changes.done = []
        }
        guard !changes.isEmpty else { return }
        do {
            try await queue.apply(
                changes,
                countMax: settings.deadLetterCountMax,
                lengthMax: settings.deadLetterLengthMax / (settings.path == nil ? 8 : 1)
            )
        } catch {
            pendingWrites.restore(changes)
            throw error
        }
    }

    /// Records whether the file can be used; a change is logged.
    func recordFileState(isFailing: Bool, _ reason: String = "") {
        defer {
            isFileFailing = isFailing
            tally.update { [isOnDisk = !isFailing && settings.path != nil] in
                $0.isOnDisk = isOnDisk
            }
        }
        guard isFailing != isFileFailing else { return }
        if isFailing {
            log.error(
                "the webhook file cannot be used; webhooks wait in memory",
                metadata: path.merging([
                    "reason": "\(reason)", "count": "\(waiting.count)",
                    "webhooks": "\(waitingText)",
                ]) { $1 }
            )
        } else {
            log.info("the webhook file can be used again", metadata: path)
        }
    }

    /// Records that webhooks, or dead letters to be replayed, are lost.
    private func recordDamaged(_ count: Int) {
        guard count > 0 else { return }
        tally.update { $0.damaged += count }
        log.error(
            "webhooks are lost: their rows in the file are damaged",
            metadata: path.merging(["count": "\(count)"]) { $1 }
        )
    }

    private var path: Logger.Metadata { ["path": "\(settings.path ?? "memory")"] }

    /// The queued webhooks that belong in the file, including those in flight.
    var waiting: [Delivery] {
        states.values.flatMap { $0.backlog.deliveries.filter(\.origins.isEmpty) }
    }

    /// The number of queued webhooks by endpoint, for the log: `app 1 https://a.test/hooks: 3, …`.
    private var waitingText: String {
        let texts = states.filter { $0.value.backlog.count > 0 }
            .map { "app \($0.key.app) \($0.key.url.withoutURLSecrets): \($0.value.backlog.count)" }
            .sorted()
        let countMax = 20
        guard texts.count > countMax else { return texts.joined(separator: ", ") }
        return texts.prefix(countMax).joined(separator: ", ")
            + ", and \(texts.count - countMax) other endpoints"
    }
}
