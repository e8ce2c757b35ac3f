import Archive
import Broker
import BrokerConfiguration
import Gateway
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
            await restore(contents.sessions)
        }
        hasRestored.store(true, ordering: .relaxed)
        guard let path = configuration.recovery.spool else { return }
        do {
            let state = try await Spool(path: path, log: log).take()
            for shard in shards { await shard.restore(state) }
            await restore(state.sessions)
            guard !state.streams.isEmpty else { return }
            log.info(
                "the spool of the last stop was loaded",
                metadata: ["path": "\(path)", "streams": "\(state.streams.count)"]
            )
        } catch {
            log.error(
                "the spool of the last stop cannot be read: streams start over, sessions are unknown",
                metadata: ["path": "\(path)", "reason": "\(error)"]
            )
        }
    }

    private func restore(_ sessions: StoredSessions) async {
        for shard in shards { await shard.restore(sessions) }
        guard sessions.damagedCount > 0 else { return }
        log.warning(
            "some stored sessions cannot be read: their clients get unknown_session",
            metadata: ["sessions": "\(sessions.damagedCount)"]
        )
    }

    /// Keeps sessions, and what is in memory alone, for the next start; called when no client is left.
    func keepState() async {
        let sessions = hasRestored.load(ordering: .relaxed) ? await storedSessions : nil
        await archive?.close(keeping: sessions)
        await writeSpool(archive == nil ? sessions : nil)
    }

    /// The longest wait for cursors that are on their way between shards.
    private static var handoverTime: Duration { .milliseconds(500) }

    private var storedSessions: StoredSessions {
        get async {
            let end = ContinuousClock.now + Self.handoverTime
            while true {
                var sessions = await shards[0].storedSessions
                for shard in shards.dropFirst() { sessions.add(await shard.storedSessions) }
                guard !sessions.isComplete, ContinuousClock.now < end else { return sessions }
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Writes what is in memory alone.
    private func writeSpool(_ sessions: StoredSessions?) async {
        guard let path = configuration.recovery.spool,
            hasRestored.load(ordering: .relaxed)
        else { return }
        var state = SpooledState(sessions: sessions ?? StoredSessions())
        for shard in shards { state.add(await shard.spooled) }
        // That there are no sessions is worth knowing, too.
        guard !state.streams.isEmpty || !state.keys.isEmpty || state.sessions.isComplete else {
            return
        }
        do {
            try await Spool(path: path).write(state)
        } catch {
            log.error(
                "the spool cannot be written: the streams and sessions in memory are lost",
                metadata: ["path": "\(path)", "reason": "\(error)"]
            )
        }
    }
}

extension Archive.Settings {
    /// The settings that the configuration describes; `nil` without a file.
    init?(_ configuration: Configuration.Recovery) {
        guard let path = configuration.database else { return nil }
        var file = ArchiveFile.Settings(path: path)
        file.syncsAlways = configuration.sync == .power
        file.byteCountMax = configuration.databaseBytesMax
        self.init(file)
    }
}
