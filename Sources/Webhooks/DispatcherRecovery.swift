internal import Logging
internal import SQLite

/// Recovery of a file that is no longer at its path, and its lock.
extension Dispatcher {
    /// Locks the file, unless it is locked; throws ``DatabaseLockError``.
    func lockFile() async throws(DatabaseLockError) {
        guard let path = settings.path else { return }
        lock = try await WebhookQueue.onDiskThread { [lock] () throws(DatabaseLockError) in
            if let lock, lock.isInPlace { return lock }
            // If the lock's own file was deleted, another broker may have created and locked it since.
            return try DatabaseLock(database: path)
        }
    }

    /// Checks that no other broker uses the file under another name; throws ``DatabaseLockError``.
    func checkFileIsFree() async throws(DatabaseLockError) {
        guard let path = settings.path else { return }
        _ = try await WebhookQueue.onDiskThread { () throws(DatabaseLockError) in
            try DatabaseFileLock(path: path)
        }
    }

    /// Recreates the file at its path, from the open file, which is no longer at the path, and the webhooks in memory.
    ///
    /// Until that succeeds, webhooks wait in memory. The old file stays open, because it holds the only copy of the
    /// dead letters.
    func restoreFile(from former: WebhookQueue) async {
        let path = settings.path ?? ""
        if !isFileMissing {
            isFileMissing = true
            log.error(
                "the webhook file was deleted, moved or replaced; it is recreated",
                metadata: [
                    "path": "\(path)", "count": "\(waiting.count)",
                    "advice": "stop the broker before you move or delete its files",
                ]
            )
        }
        do {
            try await lockFile()
            try await rescue(former)
        } catch {
            nextSave = clock.uptime + Self.failurePause
            return recordFileState(isFailing: true, "\(error)")
        }
        await former.close()
        queue = nil
        await openFile()
    }

    private func rescue(_ former: WebhookQueue) async throws {
        do {
            try await former.rescue()
        } catch  where WebhookQueue.isBroken(error) {
            log.error(
                "dead letters are lost: the webhook file can no longer be read",
                metadata: ["reason": "\(error)"]
            )
        }
    }

    /// Imports the rescued copy of an earlier file; an unreadable copy is renamed.
    func importRescued(into queue: WebhookQueue) async throws {
        do {
            guard try await queue.importRescued() else { return }
        } catch  where WebhookQueue.isBroken(error) {
            log.error(
                "the rescued copy of a webhook file cannot be read; it is renamed",
                metadata: ["path": "\(queue.setAsideRescued())", "reason": "\(error)"]
            )
        }
    }
}
