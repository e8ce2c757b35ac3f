// What happens to Sentinels, and to the primary that they watch.
extension ClusterWorld {
    /// The Sentinels act upon what they have seen until now.
    func advanceSentinels() throws {
        guard let sentinels else { return }
        let former = sentinels.agreed
        try sentinels.advance(to: now)
        guard let agreed = sentinels.agreed, agreed != former else { return }
        trace.record { "    most Sentinels name server \(agreed)" }
        reach(.fault("switch"))
        try checkSwitch(to: agreed)
    }

    /// Checks that nodes leave the former primary as soon as a majority announces another one, not when they ask next.
    private func checkSwitch(to server: Int) throws {
        guard let sentinels else { return }
        // The announcement, the question behind it, the answer, and the end of the connection, while no time passes.
        for _ in 0..<5 { try runRound() }
        let announcing = sentinels.sentinels.filter { $0.server == server }
        var due: [(node: Int, shard: Int)] = []
        for node in nodes where !node.isPaused {
            for shard in 0..<shardCount {
                let heard = announcing.count { sentinel in
                    sentinel.hearing.contains { $0.node == node.number && $0.shard == shard }
                }
                if heard >= sentinels.majority { due.append((node.number, shard)) }
            }
        }
        // Whether the server has noticed the end does not matter: a node may connect to it in the first round and close the
        // connection in the second, and the server reads some 200 KB of scripts first, 64 KB a round.
        for link in redis.links where !link.isLeft {
            guard case .redis(let process, _, _) = link.end, process.server != server,
                due.contains(where: { $0.node == link.node && $0.shard == link.shard })
            else { continue }
            throw Violation(
                .isolation,
                "node \(link.node) stays with server \(process.server), and the Sentinels have named \(server)"
            )
        }
    }

    /// Checks that no node is connected to a server for long that most Sentinels do not name: either a majority has named another
    /// one to the node, or the node cannot tell.
    func checkServers() throws {
        guard sentinels.map({ now - $0.agreedAt > ClusterScenario.leftWithin * 1_000 }) ?? false,
            strayLink != nil
        else { return }
        // Those whose timers are due leave now, while no time passes.
        for _ in 0..<5 { try runRound() }
        guard let link = strayLink else { return }
        throw Violation(
            .isolation,
            "node \(link.node) is still connected to a server that the Sentinels have replaced"
        )
    }

    /// A connection of a node that runs to a server that most Sentinels do not name.
    private var strayLink: RedisLink? {
        guard let agreed = sentinels?.agreed else { return nil }
        let running = Set(nodes.filter { !$0.isPaused }.map(\.number))
        return redis.links.first { link in
            guard case .redis(let process, _, _) = link.end, process.server != agreed else {
                return false
            }
            return !link.isLeft && running.contains(link.node)
        }
    }

    // MARK: - The primary

    /// Ends the primary's process; it may be started again, and takes itself for the primary then.
    func killPrimary() {
        guard redis.isRunning(redis.primary) else { return }
        reach(.fault("primary killed"))
        trace.record { "    server \(self.redis.primary.server) is killed" }
        redis.kill(redis.primary)
    }

    /// Cuts the primary off from most Sentinels, or all, but not from nodes: two primaries when they have promoted the replica.
    func isolatePrimary() {
        guard let sentinels, redis.isRunning(redis.primary) else { return }
        reach(.fault("primary isolated"))
        let server = redis.primary.server
        trace.record { "    server \(server) is isolated from Sentinels" }
        let spared = random.happens(30) ? random.number(sentinels.sentinels.count) : nil
        for (index, sentinel) in sentinels.sentinels.enumerated() where index != spared {
            sentinel.unreachedServers.insert(server)
        }
    }

    /// The primary is lost, and the Sentinels promote its replica; then perhaps the same with the two in exchanged roles, or the
    /// former primary is promoted again.
    func failOverBySentinels() throws {
        let count = random.happens(35) ? 2 : 1
        for number in 1...count {
            guard redis.replica != nil, redis.isRunning(redis.primary) else { return }
            let former = redis.primary
            let failsBack = random.happens(variant == .failoverForgotten ? 80 : 25)
            if failsBack { try sendAway() }
            try interruptPrimary()
            redis.isReplicaHeld = random.happens(60)
            if random.happens(40) { killPrimary() } else { isolatePrimary() }
            if random.happens(40) { leaveSentinelBehind() }
            if random.happens(25) { takeSentinels() }
            try passTime(8_000) { redis.primary !== former && sentinels?.agreed != former.server }
            try passTime(random.number(3_000))
            // Longer than anybody may stay untold.
            if random.happens(30) {
                for _ in 0..<3 {
                    try publish()
                    try passTime(500)
                }
                try advance(ClusterScenario.toldWithin + 5)
                try checkServers()
                try checkIsolation()
            }
            if failsBack, redis.isRunning(former) { return try failBack(to: former) }
            guard number < count else { return }
            healSentinels()
            try passTime(15_000) { sentinels?.areSettled ?? true }
            if sentinels?.areSettled == true { reach(.fault("second failover")) }
        }
    }

    /// Some devices are away in the failover that follows, and have positions of before.
    private func sendAway() throws {
        for device in devices where random.happens(50) { try connect(device) }
        try advance(1)
        try fireVolley()
        try advance(1)
        for device in devices where random.happens(70) { lose(device) }
    }

    /// The promoted server is lost before the former primary is its replica, perhaps with all nodes that were connected to it; the
    /// Sentinels promote the former primary again, which knows of nothing.
    private func failBack(to former: SimulatedRedis.Process) throws {
        guard let sentinels, redis.primary !== former else { return }
        reach(.fault("failover and back"))
        try passTime(1_000 + random.number(3_000))
        if random.happens(70) {
            let connected = Set(redis.primary.orderedLinks.map(\.node))
            for node in nodes where connected.contains(node.number) { kill(node) }
        }
        killPrimary()
        if nodes.isEmpty { try startNode() }
        for sentinel in sentinels.sentinels { sentinel.unreachedServers = [] }
        try passTime(12_000) { redis.primary === former && sentinels.agreed == former.server }
        let isBack = redis.primary === former
        trace.record { "    server \(former.server) is the primary again: \(isBack)" }
    }

    /// Lets time pass in small steps with some traffic, until a condition holds.
    private func passTime(_ milliseconds: Int, until condition: () -> Bool = { false }) throws {
        let end = now + milliseconds
        while now < end, !condition() {
            if random.happens(20) { try publish() }
            if random.happens(5) { try fireVolley() }
            try wait(20 + random.number(180))
            try runRound()
        }
    }

    /// The network parts into a node, the primary and one Sentinel, and the other Sentinels, which promote the replica.
    ///
    /// The node is told by its Sentinel that nothing has changed, and has to leave the primary for want of a majority.
    func partNode() throws {
        let serving = nodes.filter { $0.isReady && !$0.isPaused }
        guard let sentinels, sentinels.sentinels.count > 2, sentinels.areSettled, !serving.isEmpty,
            let near = anySentinel()
        else { return }
        let node = serving[random.number(serving.count)]
        let server = redis.primary.server
        reach(.fault("node parted"))
        trace.record {
            "    \(node.name), server \(server) and Sentinel \(near.number) are parted from the others"
        }
        near.isAlone = true
        near.unreachedServers = [3 - server]
        for sentinel in sentinels.sentinels where sentinel !== near {
            sentinel.unreachedServers.insert(server)
            node.dialer.unreachedSentinels.insert(sentinel.number)
        }
        lose(
            sentinels.links.filter { link in
                guard case .sentinel(let sentinel) = link.end else { return false }
                return link.node == node.number && sentinel !== near
            }
        )
        lastDeathAt = now
        try passTime(8_000) { sentinels.agreed != server }
        try passTime((ClusterScenario.leftWithin + 1) * 1_000)
        try checkServers()
    }

    // MARK: - Sentinels

    private func anySentinel() -> SimulatedSentinel? {
        guard let all = sentinels?.sentinels else { return nil }
        return all[random.number(all.count)]
    }

    /// A Sentinel reaches neither servers nor other Sentinels, and goes on to tell nodes what it knows.
    func leaveSentinelBehind() {
        guard let sentinel = anySentinel() else { return }
        reach(.fault("Sentinel behind"))
        trace.record { "    Sentinel \(sentinel.number) lies behind" }
        sentinel.unreachedServers = [1, 2]
        sentinel.isAlone = true
    }

    /// The Sentinels do not reach each other, or one of them does not; they may still meet at the servers.
    func partSentinels() {
        guard let sentinel = anySentinel() else { return }
        reach(.fault("Sentinels parted"))
        sentinel.isAlone = true
    }

    /// No node reaches any Sentinel, or one node reaches none, or does not reach one.
    func takeSentinels() {
        guard let sentinels, let node = anyNode(), let lost = anySentinel() else { return }
        switch random.number(3) {
        case 0:
            reach(.fault("Sentinels away"))
            for sentinel in sentinels.sentinels { sentinel.isAway = true }
            lose(sentinels.links)
        case 1:
            reach(.fault("Sentinels away from a node"))
            node.dialer.unreachedSentinels = Set(sentinels.sentinels.map(\.number))
            lose(sentinels.links.filter { $0.node == node.number })
        default:
            reach(.fault("Sentinel away"))
            node.dialer.unreachedSentinels.insert(lost.number)
            lose(lost.orderedLinks.filter { $0.node == node.number })
        }
        // Nodes that are cut off for long pass for dead.
        lastDeathAt = now
    }

    /// Ends connections, or lets them become silent.
    private func lose(_ links: [RedisLink]) {
        let isSilent = random.happens(50)
        for link in links {
            if variant == .answersKept, case .sentinel(let sentinel) = link.end {
                link.former = sentinel.model
            } else if isSilent {
                (link.isDeaf, link.isMute) = (true, true)
            } else {
                link.close()
            }
        }
    }

    /// Everybody reaches everybody, and servers that have ended start again.
    func healSentinels() {
        for sentinel in sentinels?.sentinels ?? [] {
            (sentinel.isAlone, sentinel.isAway) = (false, false)
            sentinel.unreachedServers = []
            for link in sentinel.orderedLinks { link.former = nil }
        }
        for node in nodes { node.dialer.unreachedSentinels = [] }
        redis.restartEnded(at: unixMilliseconds)
    }
}
