import Net
import RESP
import Redis

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
        (behind, unvisited) = ([], [])
    }

    func opened(_ connection: RedisConnection, server: RedisServer) {
        if home.partitions.slots == nil, server.mode == .cluster, settings.mode.joins(address) {
            return home.moves.joinRedisCluster()
        }
        if let fault = fault(of: server) {
            status.failed("\(address.url): \(fault)")
            return connection.close()
        }
        (isOpen, openSince) = (true, context.reactor.now)
        replicas?.begin(at: server)
        registerAll(with: server)
        if partitions.isEmpty { wasAccepted() }
        home.opened(self)
        // Also takes the leaderships that are vacant.
        sendHeartbeats()
        heartbeatPortion = 0
        startTimer(.heartbeat, after: .zero)
    }

    /// The reason why the node cannot start with a server; `nil` if it can, or has started.
    private func fault(of server: RedisServer) -> String? {
        if home.partitions.slots == nil, let fault = settings.mode.fault(of: server) {
            return fault
        }
        guard server.isPrimary else { return "\(RedisFault.replica)" }
        guard let count = settings.replicaCount, !home.registration.isReady else { return nil }
        if server.runID == nil {
            return "the server hides its run ID (INFO), which cluster.redis.acknowledge: replica "
                + "needs"
        }
        guard server.replicaCount < count else { return nil }
        return "cluster.redis.replicas is \(count), but the number of connected replicas is "
            + "\(server.replicaCount)"
    }

    func closed(_ connection: RedisConnection, _ fault: RedisFault, unanswered: Range<CallID>) {
        guard connection === self.connection, !context.reactor.hasShutDown else { return }
        if fault != .closedByOwner { status.failed("\(address.url): \(fault)") }
        home.partitions.counts.faults[fault.reason, default: 0] += 1
        self.connection = nil
        let wasOpen = isOpen
        isOpen = false
        // A server that accepts connections and refuses the rest counts as unreachable since the first of them.
        if wasOpen, downSince == nil { downSince = context.reactor.now }
        unregistered = []
        var unanswered = takeUnanswered()
        endings = [:]
        if let messages = replicas?.end(), !messages.isEmpty {
            unanswered.insert(PublishCall(publisher: home.publisher, messages: messages), at: 0)
        }
        home.lost(self, unanswered)
        if wasOpen, !isLost { beginIsolation() }
        startTimer(.connect, after: reconnectPause())
    }

    func received(_ reply: borrowing RESPView, to call: CallID, on connection: RedisConnection) {
        guard let answered = takeAnswered(call) else {
            if let error = RedisError(reply) { home.moves.subscriptionRefused(error, by: self) }
            return
        }
        if reply.isError, let error = RedisError(reply), error.code == .outOfMemory {
            lacksMemory(error)
        }
        readAnswered(answered, reply)
        if home.partitions.slots == nil {
            answered.call.received(reply, from: self)
        } else {
            home.moves.received(reply, to: answered, from: self)
        }
        home.channels.changeNextAttachments(in: self)
    }

    func received(push: borrowing RESPView, on connection: RedisConnection) {
        if push[0].equals("message") || push[0].equals("smessage") {
            home.received(push[2], at: push[1].text)
        } else if push[0].equals("subscribe") || push[0].equals("ssubscribe") {
            wasSubscribed()
        } else if push[0].equals("sunsubscribe") {
            home.moves.subscriptionEnded(to: push[1].text, at: self)
        }
    }

    // MARK: - Sentinels

    func sentinels(_ watch: SentinelWatch, name primary: SentinelPrimary?) {
        // Without a majority the server may have been replaced, and its data discarded. A server that is named again
        // after a failover has been replaced.
        if primary != self.primary { connection?.close() }
        if primary != nil { connect() }
    }
}
