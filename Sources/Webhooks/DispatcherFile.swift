internal import Broker
internal import Logging
internal import Primitives

/// The actor's access to the file: one exchange at a time, concurrent with its turns, which never wait for it.
extension Dispatcher {
    /// The time until a retry after a failure, and between checks for replays, in milliseconds.
    static let failurePause: Int64 = 5_000
    static let replayPause: Int64 = 2_000

    /// The time of the next access to the file without changes; `nil` during an access, and without endpoints.
    var nextFileDue: Int64? {
        guard saving == nil, let pendingWrites else { return nil }
        return endpoints.isEmpty && pendingWrites.isEmpty ? nil : nextSave
    }

    /// Writes changes, unless a write is in progress or has just failed.
    func save() {
        let now = clock.uptime
        guard saving == nil, let pendingWrites,
            now >= nextSave || (!pendingWrites.isEmpty && !isFileFailing)
        else { return }
        nextSave = now + Self.replayPause
        saving = Task {
            await self.write()
            self.saving = nil
            self.wake()
        }
    }

    private func write() async {
        do {
            try await exchangeWithFile()
            recordFileState(isFailing: false)
        } catch {
            recordFileState(isFailing: true, "\(error)")
        }
    }

    /// Writes the changes to the file, which it opens if necessary, and queues the webhooks of an earlier run and the
    /// replays that it has.
    ///
    /// - Throws: The reason why the file cannot be used; the changes are kept.
    func exchangeWithFile() async throws {
        guard let journal, let changes = pendingWrites?.take() else { return }
        let (waiting, count) = (journal.isOpen ? nil : waiting, ownCount)
        let (used, result) = await onDiskThread {
            var journal = journal
            let result = Result { try journal.exchange(changes, waiting: waiting, count: count) }
            return (journal, result)
        }
        self.journal = used
        guard case .success(let findings?) = result else {
            pendingWrites?.restore(changes)
            _ = try result.get()
            // It has to be opened.
            return try await exchangeWithFile()
        }
        queue(findings)
    }

    private func queue(_ findings: WebhookQueue.Findings) {
        recordDamaged(findings.damagedCount)
        // Once the broker stops, they stay in the file.
        guard phase == .created || phase == .running else { return }
        lastID = max(lastID, findings.lastID)
        for delivery in findings.deliveries { append(delivery) }
        if !findings.deliveries.isEmpty {
            log.info(
                "sending the webhooks of an earlier run",
                metadata: ["count": "\(findings.deliveries.count)"]
            )
        }
        for letter in findings.replays {
            pendingWrites?.remove(letter.id)
            enqueue(Batch(letter), for: letter.delivery.endpoint)
        }
        if findings.hasMoreReplays { nextSave = clock.uptime }
    }

    /// Writes the last changes, and closes the file.
    func closeFile() async {
        await saving?.value
        await write()
        let isSaved = !isFileFailing && pendingWrites?.isEmpty == true
        await releaseFile()
        let count = ownCount
        guard !isSaved, count > 0 else { return }
        log.error(
            "webhooks are lost: they were only in memory",
            metadata: ["count": "\(count)", "webhooks": "\(waitingText)"]
        )
    }

    /// Closes the file without a write.
    func releaseFile() async {
        journal = await onDiskThread { [journal] in
            var journal = journal
            journal?.release()
            return journal
        }
    }

    /// Records whether the file can be used; a change is logged.
    func recordFileState(isFailing: Bool, _ reason: String = "") {
        if isFailing { nextSave = clock.uptime + Self.failurePause }
        defer {
            isFileFailing = isFailing
            tally.update { [isOnDisk = !isFailing && journal != nil] in $0.isOnDisk = isOnDisk }
        }
        guard isFailing != isFileFailing else { return }
        let path = "\(settings.path ?? "")"
        if isFailing {
            log.error(
                "the webhook file cannot be used; webhooks wait in memory",
                metadata: [
                    "path": "\(path)", "reason": "\(reason)", "count": "\(ownCount)",
                    "webhooks": "\(waitingText)",
                ]
            )
        } else {
            log.info("the webhook file can be used again", metadata: ["path": "\(path)"])
        }
    }

    /// Records that webhooks, or dead letters to be replayed, are lost.
    private func recordDamaged(_ count: Int) {
        guard count > 0 else { return }
        tally.update { $0.damaged += count }
        log.error(
            "webhooks are lost: their rows in the file are damaged",
            metadata: ["path": "\(settings.path ?? "")", "count": "\(count)"]
        )
    }

    /// The queued webhooks that belong in the file, including those in flight.
    private var waiting: [Delivery] {
        endpoints.values.flatMap { $0.backlog.deliveries.filter(\.origins.isEmpty) }
    }

    /// Their number.
    var ownCount: Int { endpoints.values.reduce(0) { $0 + $1.backlog.ownCount } }

    /// The number of queued webhooks by endpoint, for the log: `app 1 https://a.test/hooks: 3, …`.
    private var waitingText: String {
        let texts = endpoints.values.filter { $0.backlog.count > 0 }
            .map { "app \($0.key.app) \($0.key.url.withoutURLSecrets): \($0.backlog.count)" }
            .sorted()
        let countMax = 20
        guard texts.count > countMax else { return texts.joined(separator: ", ") }
        return texts.prefix(countMax).joined(separator: ", ")
            + ", and \(texts.count - countMax) other endpoints"
    }
}
