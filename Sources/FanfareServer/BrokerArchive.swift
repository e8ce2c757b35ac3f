import Archive
import Broker
import Logging
import Synchronization

extension BrokerServer {
    /// Reads what an earlier run has kept, in the archive and in the spool.
    ///
    /// - Throws: The archive cannot be opened. A spool that cannot be read is logged: what it had is told to be lost.
    func restore() async throws(ArchiveError) {
        if let archive {
            let contents = try await archive.open()
            for shard in shards { await shard.restore(contents) }
        }
        hasRestored.store(true, ordering: .relaxed)
        guard let path = configuration.recovery.spool else { return }
        do {
            let state = try await Spool(path: path).take()
            for shard in shards { await shard.restore(state) }
            guard !state.streams.isEmpty else { return }
            log.info(
                "the spool of the last stop is read",
                metadata: ["path": "\(path)", "streams": "\(state.streams.count)"]
            )
        } catch {
            log.error(
                "the spool of the last stop cannot be read: its streams begin anew",
                metadata: ["path": "\(path)", "reason": "\(error)"]
            )
        }
    }

    /// Writes what is in memory alone for the next start; called when no client is left.
    func writeSpool() async {
        guard let path = configuration.recovery.spool,
            hasRestored.load(ordering: .relaxed)
        else { return }
        var state = SpooledState()
        for shard in shards { state.add(await shard.spooled) }
        guard !state.streams.isEmpty || !state.keys.isEmpty else { return }
        do {
            try await Spool(path: path).write(state)
        } catch {
            log.error(
                "the spool cannot be written: the streams in memory are lost",
                metadata: ["path": "\(path)", "reason": "\(error)"]
            )
        }
    }
}
