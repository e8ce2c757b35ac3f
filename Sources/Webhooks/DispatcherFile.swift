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
        saving == nil && !(outlets.isEmpty && ledger.isEmpty) ? nextSave : nil
    }

    /// Opens the file and takes up what an earlier run has left.
    func openFile() async {
        do {
            let queue = try await WebhookQueue.open(path: settings.path)
            let deliveries = try await queue.deliveries()
            advanceID(beyond: try await queue.lastID())
            self.queue = queue
            noteFile(isFailing: false)
            for var delivery in deliveries {
                // Of another run, only the calendar knows how long ago that was; one that was set back says nothing.
                delivery.birth = clock.uptime - max(0, clock.unixTime - delivery.time)
                take(delivery)
            }
            if !deliveries.isEmpty {
                log.info(
                    "webhooks of an earlier run are sent now",
                    metadata: ["count": "\(deliveries.count)"]
                )
            }
        } catch {
            noteFile(isFailing: true, "\(error)")
        }
        nextSave = clock.uptime + (queue == nil ? Self.failurePause : 0)
    }

    /// Writes what has changed, unless the file is being written or has failed a moment ago.
    func save() {
        let now = clock.uptime
        let isDue = now >= nextSave || (!ledger.isEmpty && !isFileFailing)
        guard saving == nil, isDue else { return }
        nextSave = now + Self.replayPause
        saving = Task {
            await self.write()
            self.saving = nil
            self.wake()
        }
    }

    /// Writes what has changed for the last time.
    func closeFile() async {
        await saving?.value
        if !ledger.isEmpty { await write() }
        guard !ledger.isEmpty || settings.path == nil else { return }
        let count = outlets.values.reduce(0) { $0 + $1.backlog.count }
        guard count > 0 else { return }
        log.error(
            "webhooks are lost: they waited in memory alone",
            metadata: ["count": "\(count)"]
        )
    }

    private func write() async {
        guard let queue else { return await openFile() }
        let changes = ledger.take()
        do {
            try await apply(changes, to: queue)
            noteFile(isFailing: false)
            guard isRunning else { return }
            let letters = try await queue.replays(countMax: Self.replayCountMax)
            guard isRunning else { return }
            for letter in letters {
                ledger.revive(letter.id)
                enqueue(letter.events, on: letter.channels, for: letter.endpoint)
            }
            // There may be more of them.
            if letters.count == Self.replayCountMax { nextSave = clock.uptime }
        } catch {
            nextSave = clock.uptime + Self.failurePause
            noteFile(isFailing: true, "\(error)")
        }
    }

    private func apply(_ changes: Ledger.Changes, to queue: WebhookQueue) async throws {
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
            ledger.restore(changes)
            throw error
        }
    }

    private func noteFile(isFailing: Bool, _ reason: String = "") {
        defer {
            isFileFailing = isFailing
            tally.update { [isOnDisk = !isFailing && settings.path != nil] in
                $0.isOnDisk = isOnDisk
            }
        }
        guard isFailing != isFileFailing else { return }
        let path = "\(settings.path ?? "memory")"
        if isFailing {
            log.error(
                "the file of the webhooks cannot be used; they wait in memory meanwhile",
                metadata: ["path": "\(path)", "reason": "\(reason)"]
            )
        } else {
            log.info("the file of the webhooks can be used again", metadata: ["path": "\(path)"])
        }
    }
}
