import RedisModel

/// What happens to nodes, connections and servers.
extension ClusterWorld {
    // MARK: - Nodes

    func startNode() throws {
        lastNode += 1
        let node = try ClusterNode(
            lastNode,
            shardCount: shardCount,
            redis,
            sentinels?.sentinels ?? [],
            environment,
            waitsForReplica: waitsForReplica,
            variant
        )
        nodes.append(node)
    }

    /// Ends the process of any node, unless it is the last one.
    func killNode() {
        guard nodes.count > 1 else { return }
        kill(nodes[random.number(nodes.count)])
    }

    /// Ends a node's process, and with it all its connections.
    func kill(_ node: ClusterNode) {
        nodes.removeAll { $0 === node }
        trace.record { "    \(node.name) is killed" }
        reach(.fault("kill"))
        for device in devices where device.connection?.node === node { lose(device) }
        for (_, events, _) in exchanges.filter({ $0.node == node.number }) {
            for event in events { self.events[event].status = .unknown }
        }
        exchanges.removeAll { $0.node == node.number }
        lastDeathAt = now
    }

    func pauseNode() throws {
        guard let node = anyNode(), !node.isPaused else { return }
        (node.isPaused, node.pausedUntil) = (true, now + 1_000 + random.number(25_000))
        reach(.fault("pause"))
        // Past its lease, so that others remove what it has.
        if random.happens(60) { try advance(ClusterScenario.reapedWithin + random.number(6)) }
    }

    func resume(_ node: ClusterNode) {
        guard node.isPaused else { return }
        node.isPaused = false
        node.resumedAt = now
        // It has to notice that it was taken for dead.
        lastDeathAt = now
    }

    /// Takes all connections from a node, and every other server's address, or gives them back.
    func cutOff() {
        guard let node = anyNode() else { return }
        node.dialer.isCutOff.toggle()
        guard node.dialer.isCutOff else { return }
        reach(.fault("cut off"))
        for link in links where link.node == node.number { link.close() }
        lastDeathAt = now
    }

    // MARK: - Connections

    private func anyLink() -> RedisLink? {
        let links = links
        return links.isEmpty ? nil : links[random.number(links.count)]
    }

    /// Ends a connection; what is on its way to Redis may be executed, and the replies are lost.
    func cut() throws {
        guard let link = anyLink() else { return }
        reach(.fault("cut"))
        if random.happens(50) {
            _ = try link.receive(.max)
            _ = try execute(random.happens(50) ? .max : random.number(6), of: link)
        }
        if random.happens(30) { _ = link.send(random.number(200)) }
        link.close()
    }

    /// Lets nothing through in one direction, or in none, until it heals.
    ///
    /// - Parameter isDeaf: Whether towards Redis; `nil` for both directions.
    func block(isDeaf: Bool?) {
        guard let link = anyLink() else { return }
        reach(.fault(isDeaf == nil ? "stall" : "half-cut"))
        if isDeaf != false { link.isDeaf = true }
        if isDeaf != true { link.isMute = true }
    }

    /// Ends all faults of connections.
    func heal() {
        // What a node had sent before it ended arrives only now, its heartbeats as well.
        let living = Set(nodes.map(\.number))
        if redis.links.contains(where: { $0.isDeaf && !living.contains($0.node) }) {
            lastDeathAt = now
        }
        for link in links { (link.isDeaf, link.isMute) = (false, false) }
        for node in nodes {
            node.dialer.isCutOff = false
            node.dialer.stale = nil
        }
        if sentinels != nil { healSentinels() } else { stopFormer() }
    }

    // MARK: - Servers

    /// Former primaries end, or become replicas.
    func stopFormer() {
        for process in redis.former { redis.stop(process) }
    }

    /// The replica becomes the primary, with a prefix of what the former one has.
    func failOver() throws {
        guard let replica = redis.replica else { return }
        let former = redis.primary
        try interruptPrimary()
        try promote(replica)
        redis.addReplica()
        let kind = random.number(3)
        switch variant?.needsDemotion == true ? 1 : kind {
        case 0:
            reach(.fault("failover"))
            redis.stop(former)
        case 1:
            reach(.fault("demotion"))
            redis.demote(former)
        default:
            reach(.fault("two primaries"))
            for node in nodes where random.happens(50) { node.dialer.stale = former }
        }
        for _ in 0..<random.number(8) {
            try fireVolley()
            try wait(30)
        }
    }

    /// The primary is about to be lost in the middle of what it executes, and the replica has some of it.
    func interruptPrimary() throws {
        try redis.replicate(random.happens(50) ? .max : random.number(20))
        for _ in 0..<random.number(4) { try publish() }
        for _ in 0..<2 { runNodes() }
        for link in redis.links { _ = try link.receive(.max) }
        let busy = redis.links.filter { !$0.commands.isEmpty }
        guard !busy.isEmpty else { return }
        let link = busy[random.number(busy.count)]
        _ = try execute(random.number(link.commands.count + 1), of: link)
    }

    /// A process becomes the primary, with what it has.
    func promote(_ process: SimulatedRedis.Process) throws {
        let tail = redis.tail(behind: process)
        redis.promote(process, at: unixMilliseconds)
        try lose(tail)
    }

    /// The new primary has not got these messages.
    private func lose(_ tail: [String]) throws {
        for id in tail.compactMap({ Self.eventID(in: $0) }) where events.indices.contains(id) {
            events[id].isLost = true
            reach(.lostTail)
            try checkDurability(of: id)
        }
    }

    func emptyRedis() {
        guard redis.isRunning(redis.primary) else { return }
        reach(.fault("empty restart"))
        redis.startEmpty(at: unixMilliseconds)
        heal()
    }

    // MARK: - What Redis executes

    /// Called with every published message, in the order of execution.
    func executed(
        _ text: String,
        by process: SimulatedRedis.Process,
        for link: RedisLink?
    ) throws {
        guard let id = Self.eventID(in: text), events.indices.contains(id) else { return }
        guard events[id].rank == nil else {
            throw Violation(.once, "event \(id) was executed twice")
        }
        (events[id].rank, events[id].time) = (executedCount, now)
        executedCount += 1
        events[id].stray = process === redis.primary ? nil : process
        events[id].isOfReplica = !process.model.identity.isPrimary
        // The publisher was told that nobody knows whether it is published.
        if let link, redis.isAbandoned(link) { return }
        let (source, channel) = (events[id].source, events[id].channel)
        if let last = lastExecuted[source]?[channel], last > id {
            throw Violation(.order, "event \(id) was executed behind \(last), of the same source")
        }
        lastExecuted[source, default: [:]][channel] = id
    }
}
