import Broker
import Net
import PusherProtocol
import RESP
import Redis
import Synchronization

// The connection to Redis, and the node's registration in each partition.
extension ClusterHome: RedisConnectionDelegate, SentinelWatchDelegate {
    /// Connects for the first time, or again.
    func connect() {
        guard connection == nil else { return }
        guard !partitions.isEmpty else {
            settings.status.readyCount.add(1, ordering: .relaxed)
            return
        }
        if downSince == nil { downSince = context.reactor.now }
        var url = settings.url
        if let sentinels = settings.sentinels {
            if watch == nil {
                watch = SentinelWatch(
                    sentinels,
                    tls: settings.tls,
                    on: context.reactor,
                    delegate: self
                )
            }
            guard let primary = watch?.primary else {
                settings.status.failed("no majority of the Sentinels names a primary")
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
        (remotes, topics, replays, behind) = ([:], [:], [:], [])
        (queries, lists) = ([:], [:])
        sessions.removeAll()
        uncompared = []
    }

    func opened(_ connection: RedisConnection, server: RedisServer) {
        isOpen = true
        backoff.reset()
        let isFirst = lastRun == nil
        let isSameRun = server.runID != nil && server.runID == lastRun
        lastRun = server.runID
        let identity = ServerIdentity(
            server,
            connection: "\(settings.node)/\(context.shard)/\(server.clientID)"
        )
        for index in partitions.indices {
            let known = isSameRun ? 0 : newestStream(in: index)
            register(index, with: identity, known: known)
        }
        if claimsNumber { claimNumber() }
        if !isFirst { settings.status.failed(nil) }
        endIsolation()
        catchUpAll()
        sendMessages()
        followUsers()
        resumeSessions()
        for query in queries.values { ask(query) }
        for listing in lists.values { ask(listing) }
        startTimer(.heartbeat, after: ClusterSettings.heartbeatInterval)
    }

    func closed(_ connection: RedisConnection, _ fault: RedisFault, unanswered: Range<CallID>) {
        guard connection === self.connection, !context.reactor.hasShutDown else { return }
        if fault != .closedByOwner { settings.status.failed("\(settings.url): \(fault)") }
        counts.faults[fault.reason, default: 0] += 1
        self.connection = nil
        let wasOpen = isOpen
        isOpen = false
        if wasOpen { downSince = context.reactor.now }
        fallBehind()
        reapings = [:]
        let unanswered = calls.sorted { $0.key < $1.key }.map(\.value)
        calls = [:]
        outbox.lost(unanswered) { message in
            refuse(message, .unanswered)
        }
        loseSessions(unanswered)
        for case .replay(let number) in unanswered {
            guard let (remote, subscription) = replays.removeValue(forKey: number) else { continue }
            remote.waiting.append(subscription)
        }
        if wasOpen { beginIsolation() }
        startTimer(
            .connect,
            after: backoff.pause(random: .random(in: .min ... .max))
        )
    }

    func received(_ reply: borrowing RESPView, to call: CallID, on connection: RedisConnection) {
        guard let purpose = calls.removeValue(forKey: call) else { return }
        switch purpose {
        case .register(let partition): registered(reply, partition)
        case .heartbeat(let partition): receiveHeartbeat(reply, partition)
        case .claimNumber: receiveNumber(reply)
        case .publish(let messages): published(reply, messages)
        case .plainPart(let batch): batch.check(reply)
        case .plainEnd(let batch): publishedPlainly(reply, batch)
        case .attach(let remote, let interests, let count):
            attached(reply, remote, interests, count: count)
        case .detach(let remote): detached(reply, remote)
        case .join(let remote, let member): joined(reply, remote, member)
        case .rejoin: break
        case .leave(let remote, let user): left(reply, remote, user)
        case .user(let topic, let time): receive(reply, ofUserAt: topic, behind: time)
        case .condemn(let node): condemned(reply, node)
        case .reap(let node, let item): reaped(reply, node, item)
        case .query(let query, let part): receive(reply, for: query, part)
        case .list(let listing): receive(reply, for: listing)
        case .catchUp(let remote): readMissed(reply, remote)
        case .replay(let number): readReplay(reply, number)
        case .session(let call): receive(reply, to: call)
        case .compare(let channels): compared(reply, channels)
        case .usage: receiveUsage(reply)
        case .topics:
            if RedisError(reply) != nil { connection.close() }
        }
    }

    func received(push: borrowing RESPView, on connection: RedisConnection) {
        guard push[0].equals("message") else { return }
        let topic = push[1].text
        guard let remote = topics[topic] else {
            if sessions.inboxes.contains(topic) { return receive(InboxMessage(push[2].copy())) }
            if !users.isEmpty { receive(UserAnnouncement(push[2].copy()), at: topic) }
            return
        }
        guard let announcement = ChannelAnnouncement(push[2].copy()) else { return }
        receive(announcement, on: remote)
    }

    // MARK: - Sentinels

    func sentinels(_ watch: SentinelWatch, name primary: RedisURL.Location?) {
        // Without a majority the server may have been replaced, and its data be given up.
        if primary != location { connection?.close() }
        if primary != nil { connect() }
    }

    // MARK: - Registration

    private func register(_ index: Int, with server: ServerIdentity, known: UInt64) {
        let call = partitions[index].calls.register(with: server, known: known, .primary)
        identity = server
        send(call, as: .register(partition: index))
    }

    /// Registers the node again, after another one has taken it for dead.
    func registerAgain(_ index: Int) {
        guard let identity else { return }
        register(index, with: identity, known: 0)
    }

    private func registered(_ reply: borrowing RESPView, _ index: Int) {
        guard let registration = Registration(reply) else {
            settings.status.failed(RedisError(reply)?.text ?? "an unknown reply to register")
            connection?.close()
            return
        }
        let former = partitions[index].epoch
        // A node that was away for longer may not know of an epoch in between that was not clean.
        let isContinued = former.map { $0.since >= registration.base } ?? false
        partitions[index].isComplete =
            isContinued && partitions[index].counter == registration.counter
        partitions[index].counter = registration.counter
        partitions[index].lastTime = registration.time
        (partitions[index].epoch, partitions[index].base) = (registration.epoch, registration.base)
        if former == nil, partitions.allSatisfy({ $0.epoch != nil }) { becomeReadyIfPossible() }
    }

    /// The newest stream that this node knows in a partition.
    private func newestStream(in index: Int) -> UInt64 {
        remotes.values.reduce(0) { newest, remote in
            remote.partition == index ? max(newest, remote.position?.stream ?? 0) : newest
        }
    }

    private func becomeReadyIfPossible() {
        guard !isReady, partitions.allSatisfy({ $0.epoch != nil }),
            !claimsNumber || settings.status.number.load(ordering: .relaxed) > 0
        else { return }
        isReady = true
        settings.status.failed(nil)
        settings.status.readyCount.add(1, ordering: .releasing)
    }

    // MARK: - The number of the node

    /// How long the number of a node is kept that does not renew it, in milliseconds.
    private static var numberLifetime: Int { 3_600_000 }

    private func claimNumber() {
        let former = settings.status.number.load(ordering: .relaxed)
        let call = partitions[0].calls.claimNumber(former: former, lifetime: Self.numberLifetime)
        send(call, as: .claimNumber)
    }

    private func receiveNumber(_ reply: borrowing RESPView) {
        let former = settings.status.number.load(ordering: .relaxed)
        guard let number = reply.integer, number > 0 else {
            settings.status.failed(RedisError(reply)?.text ?? "there are 1,023 nodes already")
            return
        }
        guard former != 0 else {
            settings.status.number.store(Int(number), ordering: .relaxed)
            return becomeReadyIfPossible()
        }
    }

    // MARK: - Heartbeats

    func sendHeartbeats() {
        guard isOpen, !isLeaving else { return }
        for index in partitions.indices {
            let call = partitions[index].calls.heartbeat(lease: settings.lease, .primary)
            send(call, as: .heartbeat(partition: index))
        }
        if claimsNumber { claimNumber() }
        attachRefused()
        compareNext()
        exchangeUsage()
        startTimer(.heartbeat, after: ClusterSettings.heartbeatInterval)
    }

    private func receiveHeartbeat(_ reply: borrowing RESPView, _ index: Int) {
        guard !isLeaving else { return }
        // Without memory or replicas Redis still answers; anything else is answered by another connection.
        guard let heartbeat = Heartbeat(reply) else {
            connection?.close()
            return
        }
        guard heartbeat.epoch == partitions[index].epoch else {
            // The server has followed another one in between: what was published may be lost.
            connection?.close()
            return
        }
        partitions[index].counter = heartbeat.counter
        partitions[index].lastTime = heartbeat.time
        reap(heartbeat.dead, in: index)
        if !heartbeat.isRegistered {
            registerAgain(index)
            for remote in remotes.values where remote.partition == index && remote.isCurrent {
                remote.countedSubscriptions = 0
                remote.fellBehind()
                behind.append(remote)
            }
            catchUpNext()
        }
    }
}
