import Net
import RESP
import Redis

// The connection to the primary of a store.
extension ClusterStore: RedisConnectionDelegate, SentinelWatchDelegate {
    /// Connects for the first time, or again.
    func connect() {
        guard connection == nil else { return }
        if downSince == nil { downSince = context.reactor.now }
        var url = target.url
        if let sentinels = target.sentinels {
            if watch == nil {
                watch = SentinelWatch(
                    sentinels,
                    tls: settings.tls,
                    on: context.reactor,
                    delegate: self
                )
            }
            guard let primary = watch?.primary else {
                status.failed("no majority of the Sentinels names a primary")
                return
            }
            url.location = primary
        }
        location = url.location
        connection = RedisConnection.connect(
            to: url,
            tls: settings.tls,
            settings: settings.connection,
            on: context.reactor,
            delegate: self
        )
    }

    /// Ends the connection, with the shard.
    func shutDown() {
        watch?.stop()
        watch = nil
        connection?.close()
        connection = nil
        isOpen = false
        calls = [:]
        _ = outbox.removeAll()
        (behind, uncompared) = ([], [])
    }

    func opened(_ connection: RedisConnection, server: RedisServer) {
        isOpen = true
        backoff.reset()
        let isFirst = lastRun == nil
        registerAll(with: server)
        if !isFirst { status.failed(nil) }
        endIsolation()
        home.opened(self)
        startTimer(.heartbeat, after: ClusterSettings.heartbeatInterval)
    }

    func closed(_ connection: RedisConnection, _ fault: RedisFault, unanswered: Range<CallID>) {
        guard connection === self.connection, !context.reactor.hasShutDown else { return }
        if fault != .closedByOwner { status.failed("\(target.url): \(fault)") }
        home.counts.faults[fault.reason, default: 0] += 1
        self.connection = nil
        let wasOpen = isOpen
        isOpen = false
        if wasOpen { downSince = context.reactor.now }
        let unanswered = calls.sorted { $0.key < $1.key }.map(\.value)
        calls = [:]
        home.lost(self, unanswered)
        if wasOpen { beginIsolation() }
        startTimer(
            .connect,
            after: backoff.pause(random: .random(in: .min ... .max))
        )
    }

    func received(_ reply: borrowing RESPView, to call: CallID, on connection: RedisConnection) {
        guard let purpose = calls.removeValue(forKey: call) else { return }
        home.received(reply, to: purpose, on: self)
    }

    func received(push: borrowing RESPView, on connection: RedisConnection) {
        guard push[0].equals("message") else { return }
        home.received(push[2], at: push[1].text)
    }

    // MARK: - Sentinels

    func sentinels(_ watch: SentinelWatch, name primary: RedisURL.Location?) {
        // Without a majority the server may have been replaced, and its data be given up.
        if primary != location { connection?.close() }
        if primary != nil { connect() }
    }
}
