internal import Dispatch
internal import Glibc
internal import Logging
internal import SQLite

/// The broker's use of the file: the waiting webhooks, for the next run, and the dead letters.
///
/// The dispatcher sends from memory, and reads the file only when it has been opened. A value for one call at a time,
/// on a thread that may block.
struct WebhookJournal: Sendable {
    private let path: String
    private let settings: WebhookSettings
    private let log: Logger
    private var lock: DatabaseLock?
    private var queue: WebhookQueue?
    /// Whether the open file is no longer at its path, and could not be recreated yet.
    private var isMissing = false

    /// Creates the journal of a file that is not opened yet.
    init(path: String, _ settings: WebhookSettings, log: Logger) {
        (self.path, self.settings, self.log) = (path, settings, log)
    }

    /// Whether the file is open, so that it only needs the changes.
    var isOpen: Bool { queue != nil }

    /// Writes changes to the file, and reads what it has for the broker.
    ///
    /// A file that is no longer at its path stays open until its content is copied, because it has the only copy of the
    /// dead letters; then it is closed.
    ///
    /// - Parameters:
    ///   - changes: The changes since the last call.
    ///   - waiting: All webhooks that belong in the file, to open it; `nil` to use the open file.
    ///   - count: The number of webhooks that belong in the file, for the log.
    /// - Returns: What the file has; `nil` if it has to be opened.
    /// - Throws: The reason why the file cannot be used; nothing was written then.
    mutating func exchange(
        _ changes: PendingWrites,
        waiting: [Delivery]?,
        count: Int
    ) throws -> WebhookQueue.Findings? {
        if let queue, !queue.isInPlace { try rescue(queue, count) }
        try lockPath()
        guard let queue else { return try waiting.map { try open(changes, waiting: $0) } }
        isMissing = false
        do {
            return try queue.exchange(changes, settings)
        } catch  where WebhookQueue.isBroken(error) {
            // The retry opens the file that is at the path then.
            close()
            throw error
        }
    }

    /// Closes the file, and releases the lock.
    mutating func release() {
        close()
        lock = nil
    }

    private mutating func close() {
        queue?.close()
        queue = nil
    }

    private mutating func open(
        _ changes: PendingWrites,
        waiting: [Delivery]
    ) throws -> WebhookQueue.Findings {
        let queue = try WebhookQueue(path: path, isOwner: true)
        try importRescued(into: queue)
        // Also those that were written to an earlier file.
        var changes = changes
        changes.deliveries = Dictionary(uniqueKeysWithValues: waiting.map { ($0.id, $0) })
        let findings = try queue.exchange(changes, settings, isOpened: true)
        if isMissing { log.notice("the webhook file is recreated", metadata: ["path": "\(path)"]) }
        (self.queue, isMissing) = (queue, false)
        return findings
    }

    /// Locks the path, unless it is locked; throws ``DatabaseLockError``.
    private mutating func lockPath() throws(DatabaseLockError) {
        // If the lock's own file was deleted, another broker may have created and locked it since.
        if lock?.isInPlace != true { lock = try DatabaseLock(database: path) }
    }

    // MARK: A file that is no longer at its path

    private mutating func rescue(_ queue: WebhookQueue, _ count: Int) throws {
        if !isMissing {
            isMissing = true
            log.error(
                "the webhook file was deleted, moved or replaced; it is recreated",
                metadata: [
                    "path": "\(path)", "count": "\(count)",
                    "advice": "stop the broker before you move or delete its files",
                ]
            )
        }
        try lockPath()
        do {
            try queue.rescue()
        } catch  where WebhookQueue.isBroken(error) {
            log.error(
                "dead letters are lost: the webhook file can no longer be read",
                metadata: ["reason": "\(error)"]
            )
        }
        close()
    }

    /// Imports the rescued copy of an earlier file; an unreadable copy is renamed.
    private func importRescued(into queue: WebhookQueue) throws {
        do {
            try queue.importRescued()
        } catch  where WebhookQueue.isBroken(error) {
            let copy = WebhookQueue.rescuePath(of: path)
            rename(copy, copy + "-unreadable")
            log.error(
                "the rescued copy of a webhook file cannot be read; it is renamed",
                metadata: ["path": "\(copy)-unreadable", "reason": "\(error)"]
            )
        }
    }
}

/// Runs blocking disk access on a separate thread.
func onDiskThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
}
