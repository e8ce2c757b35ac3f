internal import Broker
internal import Logging

/// How the actor uses the file: beside its turns, one transaction at a time, and never waiting for it.
extension Dispatcher {
    /// How long after a failure the file is tried again, and how often it is asked for replays, in milliseconds.
    static let failurePause: Int64 = 5_000
    static let replayPause: Int64 = 2_000
    /// The dead letters that are taken up at a time.
    static let replayCountMax = 100

    /// When the file is used again although nothing has changed; `nil` while it is being used, and when nobody would
    /// be sent anything.
    var nextFileDue: Int64? {
        saving == nil && !(states.isEmpty && pendingWrites.isEmpty) ? nextSave : nil
    }

    /// Opens the file and takes up what is in it: of an earlier run, or of whoever has put it there meanwhile.
    func openFile() async {
        do {
            try await lockFile()
            let queue = try await WebhookQueue.open(path: settings.path)
            try await absorbRescued(into: queue)
            try await adopt(queue)
            noteFile(isFailing: false)
            if isFileAway { log.notice("the file of the webhooks is made again", metadata: path) }
            isFileAway = false
        } catch {
            noteFile(isFailing: true, "\(error)")
        }
        nextSave = clock.uptime + (queue == nil ? Self.failurePause : 0)
    }

    /// Makes a file the one that is written to, and what it has and what waits in memory the same.
    private func adopt(_ queue: WebhookQueue) async throws {
        let known = Set(waiting.map(\.id))
        let (stored, others) = try await queue.deliveries(except: known)
        advanceID(beyond: try await queue.lastID())
        self.queue = queue
        if settings.path != nil {
            pendingWrites.reconcile(waiting: waiting, known: known, stored: stored)
        }
        let found = others.filter { !pendingWrites.isFinished($0.id) }
        for var delivery in found {
            // Of another run, only the calendar knows how long ago that was; one that was set back says nothing.
            delivery.birth = clock.uptime - max(0, clock.unixTime - delivery.time)
            take(delivery)
        }
        if !found.isEmpty {
            log.info(
                "webhooks of an earlier run are sent now",
                metadata: ["count": "\(found.count)"]
            )
        }
    }

    /// Writes what has changed, unless the file is being written or has failed a moment ago.
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

    /// Writes what has changed for the last time, and closes the file.
    func closeFile() async {
        await saving?.value
        if settings.path != nil || !pendingWrites.isEmpty { await write() }
        // The first may have made the file again.
        if settings.path != nil, !pendingWrites.isEmpty, !isFileFailing { await write() }
        let isSaved = settings.path != nil && !isFileFailing && pendingWrites.isEmpty
        await queue?.close()
        queue = nil
        lock = nil
        let count = waiting.count
        guard !isSaved, count > 0 else { return }
        log.error(
            "webhooks are lost: they waited in memory alone",
            metadata: ["count": "\(count)", "webhooks": "\(waitingText)"]
        )
    }

    private func write() async {
        guard let queue else { return await openFile() }
        guard await queue.isInPlace() else { return await restoreFile(from: queue) }
        isFileAway = false
        do {
            try await lockFile()
        } catch {
            nextSave = clock.uptime + Self.failurePause
            return noteFile(isFailing: true, "\(error)")
        }
        let changes = pendingWrites.take()
        do {
            try await apply(changes, to: queue)
            noteFile(isFailing: false)
            guard isRunning else { return }
            let letters = try await queue.replays(countMax: Self.replayCountMax)
            guard isRunning else { return }
            for letter in letters {
                pendingWrites.revive(letter.id)
                enqueue(letter.events, on: letter.channels, for: letter.endpoint)
            }
            // There may be more of them.
            if letters.count == Self.replayCountMax { nextSave = clock.uptime }
        } catch {
            nextSave = clock.uptime + Self.failurePause
            noteFile(isFailing: true, "\(error)")
            guard WebhookQueue.isBroken(error) else { return }
            // Whatever is at the path when it is tried again gets all that waits.
            await queue.close()
            self.queue = nil
        }
    }

    private func apply(_ changes: PendingWrites.Changes, to queue: WebhookQueue) async throws {
        var changes = changes
        if settings.path == nil {
            // Memory need not hold them twice.
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

    /// Notes whether the file can be used; a change is logged.
    func noteFile(isFailing: Bool, _ reason: String = "") {
        defer {
            isFileFailing = isFailing
            tally.update { [isOnDisk = !isFailing && settings.path != nil] in
                $0.isOnDisk = isOnDisk
            }
        }
        guard isFailing != isFileFailing else { return }
        if isFailing {
            log.error(
                "the file of the webhooks cannot be used; they wait in memory meanwhile",
                metadata: path.merging([
                    "reason": "\(reason)", "count": "\(waiting.count)",
                    "webhooks": "\(waitingText)",
                ]) { $1 }
            )
        } else {
            log.info("the file of the webhooks can be used again", metadata: path)
        }
    }

    private var path: Logger.Metadata { ["path": "\(settings.path ?? "memory")"] }

    /// The webhooks that wait or are under way.
    var waiting: [Delivery] { states.values.flatMap(\.backlog.deliveries) }

    /// How many webhooks wait for which endpoints, for the log: `app 1 https://a.test/hooks: 3, …`.
    private var waitingText: String {
        let texts = states.filter { $0.value.backlog.count > 0 }
            .map { "app \($0.key.app) \($0.key.url): \($0.value.backlog.count)" }
            .sorted()
        let countMax = 20
        guard texts.count > countMax else { return texts.joined(separator: ", ") }
        return texts.prefix(countMax).joined(separator: ", ")
            + ", and \(texts.count - countMax) other endpoints"
    }
}
