import Net
import RESP
import Redis
import Shard

// The connection to the primary of a store.
extension ClusterStore: RedisConnectionDelegate, SentinelWatchDelegate {
    /// Connects for the first time, or again.
    func connect() {
        guard connection == nil, transit == nil else { return }
        if downSince == nil { downSince = context.reactor.now }
        var url = address.url
        if let sentinels = address.sentinels {
            if watch == nil { watch = follow(sentinels) }
            primary = watch?.primary
            guard let primary else {
                status.failed("no majority of the Sentinels names a primary")
                return
            }
            url.location = primary.location
        }
        location = url.location
        connection = dial(url)
    }

    /// Ends the connection, with the shard.
    func shutDown() {
        watch?.stop()
        watch = nil
        _ = replicas?.end()
        connection?.close()
        connection = nil
        isOpen = false
        takeUnanswered()
        _ = outbox.removeAll()
        (channels.behind, channels.unvisited) = ([], [])
    }

    func opened(_ connection: RedisConnection, server: RedisServer) {
        delegate.connected(self, to: server)
    }

    /// Makes calls possible.
    func begin(at server: RedisServer) {
        (isOpen, openSince) = (true, context.reactor.now)
        replicas?.begin(at: server)
    }

    func closed(_ connection: RedisConnection, _ fault: RedisFault, unanswered: Range<CallID>) {
        guard connection === self.connection, !context.reactor.hasShutDown else { return }
        if fault != .closedByOwner { status.failed("\(address.url): \(fault)") }
        self.connection = nil
        let wasOpen = isOpen
        isOpen = false
        // A server that accepts connections and refuses the rest counts as unreachable since the first of them.
        if wasOpen, downSince == nil { downSince = context.reactor.now }
        unregistered = []
        let unanswered = takeUnanswered()
        endings = [:]
        delegate.lost(self, fault, unconfirmed: replicas?.end() ?? [], unanswered)
        if wasOpen, !isLost { beginIsolation() }
        startTimer(.connect, after: reconnectPause())
    }

    func received(_ reply: borrowing RESPView, to call: CallID, on connection: RedisConnection) {
        guard let answered = takeAnswered(call) else {
            if let error = RedisError(reply) { delegate.subscriptionRefused(error, by: self) }
            return
        }
        if reply.isError, let error = RedisError(reply), error.code == .outOfMemory {
            lacksMemory(error)
        }
        readAnswered(answered, reply)
        delegate.received(reply, to: answered, from: self)
    }

    func received(push: borrowing RESPView, on connection: RedisConnection) {
        if push[0].equals("message") || push[0].equals("smessage") {
            delegate.received(push[2], at: push[1].text)
        } else if push[0].equals("subscribe") || push[0].equals("ssubscribe") {
            guard exchange(&refusesSubscriptions, with: false) else { return }
            delegate.acceptsSubscriptions(self)
        } else if push[0].equals("sunsubscribe") {
            delegate.subscriptionEnded(to: push[1].text, at: self)
        }
    }

    // MARK: - Sentinels

    func sentinels(_ watch: SentinelWatch, name primary: SentinelPrimary?) {
        // Without a majority the server may have been replaced, and its data discarded. A server that is named again
        // after a failover has been replaced.
        if primary != self.primary { connection?.close() }
        if primary != nil { connect() }
    }

    /// Whether the server was certainly not a replica of one that had a slot until then, whose last writes it may lack.
    ///
    /// A promoted server knows an earlier replication history; one that had slots at the time was a primary itself.
    func hasFollowedNone(before time: MonotonicTime) -> Bool {
        guard let identity, !identity.replication.isEmpty else { return false }
        let hadSlots = !partitions.isEmpty && openSince.map { $0 < time } ?? false
        return identity.formerReplication.isEmpty || hadSlots
    }
}
