import Archive
import Broker
import PusherProtocol

/// Stops and kills of the broker.
///
/// Its streams go over both, as those of stored channels do. A stop keeps all sessions; a killed broker's are those that it
/// has written by then.
extension SessionWorld {
    /// Starts a broker, without sessions of before.
    static func start(
        sessionsMax: Int,
        _ disk: SimulatedDisk,
        _ shardCount: Int,
        _ environment: World.Environment,
        _ variant: SessionVariant?
    ) throws -> (SimulatedArchive, SimulatedBroker) {
        let archive = try SimulatedArchive(disk, shardCount: shardCount, nil)
        let broker = try SimulatedBroker(
            SessionScenario.configuration(
                sessionsMax: sessionsMax,
                grace: variant == .leftForgotten ? 0 : SessionScenario.resubscribeGrace
            ),
            clocks: Array(repeating: environment.clock(), count: shardCount),
            random: { environment.random.next() },
            archive: archive,
            confirmationPortions: variant?.confirmationPortions
        )
        archive.send = { [unowned broker] shard, reply in broker.send(reply, to: shard) }
        return (archive, broker)
    }

    /// Stops the broker when its clients are disconnected, and starts another.
    func stop() throws {
        for device in devices { lose(device, .reset) }
        closeAllAbandoned()
        try runUntilIdle()
        let sessions = broker.storedSessions
        guard sessions.isComplete else {
            throw Violation(.answers, "a stop does not know all sessions")
        }
        try restart(with: sessions, broker.spooled)
        reach(.stop)
    }

    /// Kills the broker, and starts another.
    func kill() throws {
        var sessions = StoredSessions(disk.contents().sessions.sessions.map(tampered))
        sessions.isComplete = variant == .crashTakenForStop
        let streams = broker.spooled
        dropExchanges()
        try restart(with: sessions, streams)
        for device in devices {
            lose(device, .reset)
            // The cursors and socket IDs may be those of a while ago.
            for index in device.socketIDs.indices { device.socketIDs[index].isCertain = false }
            for channel in device.books.keys {
                device.books[channel]?.certain = []
                device.books[channel]?.certainAt = 0
                device.books[channel]?.gapMark = processedCount
                device.books[channel]?.lacksGap = false
            }
            device.isKnown = false
            // So may what was shared, or was told to be unknown.
            (device.isCertainlyUnknown, device.sharedAt, device.toldSharedAt) = (false, nil, nil)
        }
        closeAllAbandoned()
        if variant != .crashTakenForStop { (isComplete, startedAt) = (false, now) }
        reach(.kill)
    }

    private func tampered(_ session: StoredSession) -> StoredSession {
        guard variant == .storedTooHigh else { return session }
        var session = session
        for index in session.cursors.indices {
            let position = session.cursors[index].position
            session.cursors[index].position = ChannelPosition(
                stream: position.stream,
                serial: position.serial + 1
            )
        }
        return session
    }

    private func restart(with sessions: StoredSessions, _ streams: SpooledState) throws {
        (archive, broker) = try Self.start(
            sessionsMax: sessionsMax + (variant == .oneSessionMore ? shardCount : 0),
            disk,
            shardCount,
            environment,
            variant
        )
        broker.restore(streams)
        broker.restore(sessions)
        // What a cache channel holds is in memory alone.
        uncachedCount = events.count
        for device in devices {
            for channel in device.books.keys { device.books[channel]?.lacksOpening = false }
        }
    }
}
