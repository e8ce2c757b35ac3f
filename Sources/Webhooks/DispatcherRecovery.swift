internal import Logging

/// What to do when the file is not at its path any more, and who may use it.
extension Dispatcher {
    /// Locks the file, unless it is locked.
    ///
    /// - Throws: ``WebhookFileLockError``.
    func lockFile() async throws(WebhookFileLockError) {
        guard let path = settings.path else { return }
        lock = try await WebhookQueue.aside { [lock] () throws(WebhookFileLockError) in
            if let lock, lock.isInPlace { return lock }
            // Where the lock's own file was deleted, another broker may have made and locked it since.
            return try WebhookFileLock(database: path)
        }
    }

    /// Makes the file again at its path, from what is still open of it and what waits in memory.
    ///
    /// While that fails, webhooks wait in memory and what was open stays open: dead letters are nowhere else.
    ///
    /// - Parameter former: What was opened at the path, and is no longer there.
    func restoreFile(from former: WebhookQueue) async {
        let path = settings.path ?? ""
        if !isFileAway {
            isFileAway = true
            log.error(
                "the file of the webhooks is gone: deleted, moved or replaced; it is made again",
                metadata: [
                    "path": "\(path)", "count": "\(waiting.count)",
                    "advice": "stop the broker before you move or delete the files beside its path",
                ]
            )
        }
        do {
            try await lockFile()
            try await rescue(former)
        } catch {
            nextSave = clock.uptime + Self.failurePause
            return noteFile(isFailing: true, "\(error)")
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
                "dead letters are lost with the file of the webhooks: it cannot be read any more",
                metadata: ["reason": "\(error)"]
            )
        }
    }

    /// Takes in what was rescued of an earlier file; a copy that cannot be read is left for people to look at.
    func absorbRescued(into queue: WebhookQueue) async throws {
        do {
            guard try await queue.absorbRescued() else { return }
        } catch  where WebhookQueue.isBroken(error) {
            log.error(
                "what was rescued of a file of webhooks cannot be read; it is set aside",
                metadata: ["path": "\(queue.setAsideRescued())", "reason": "\(error)"]
            )
        }
    }
}
