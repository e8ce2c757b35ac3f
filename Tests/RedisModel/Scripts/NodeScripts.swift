// Nodes, epochs and leadership.
extension ScriptRun {
    func isRegistered(_ items: ByteString) -> Bool { data[set: items].contains(".") }

    func fenced(_ node: ByteString) -> RESPValue {
        .error("FENCED node \(node) is not registered")
    }

    func alive(_ node: ByteString) -> RESPValue { .error("ALIVE node \(node) is registered") }

    /// The epoch's `since`; 0 before the first registration.
    func since(_ epoch: ByteString) -> UInt64 {
        data[hash: epoch]["since"].flatMap { UInt64($0.description) } ?? 0
    }

    /// From which epoch on each has followed the one before cleanly; nil before the first registration.
    func base(_ epoch: ByteString) -> UInt64? {
        data[hash: epoch]["base"].flatMap { UInt64($0.description) }
    }

    // MARK: Tenures

    /// The node that holds a tenure; nil if none does.
    func holder(_ key: ByteString) -> ByteString? {
        guard let parts = data[string: key]?.parts(2, by: " "), let limit = parts[1].integer,
            limit > time
        else { return nil }
        return parts[0]
    }

    mutating func hold(_ key: ByteString, _ node: ByteString, for length: Int64) {
        data[string: key] = "\(node) \(time + length)"
        data.expire(key, after: length)
    }

    // MARK: Scripts

    mutating func register() -> RESPValue {
        let (epoch, nodes, items, counter) = (keys[0], keys[1], keys[2], keys[3])
        let (node, run, replication, former) = (
            arguments[0], arguments[1], arguments[2], arguments[3]
        )
        let (started, known) = (number(4), UInt64(number(5)))
        let (mode, layout) = (arguments[6], arguments[7])
        let (knownEpoch, origin, failover) = (UInt64(number(8)), arguments[9], number(10))

        let state = data[hash: epoch]
        if let found = state["layout"], found != layout {
            return .error("LAYOUT the data has layout \(found), and the node has layout \(layout)")
        }
        var start = since(epoch)
        var isClean = state["clean"] == "1"
        var base = base(epoch) ?? start
        let lastFailover = state["failover"]?.integer ?? failover
        let isSame =
            state["run"] == run && (state["replication"] == replication || former.isEmpty)
            && failover <= lastFailover
        let hasMoved =
            !origin.isEmpty && state["run"] == origin && run != origin
            && former != state["replication"]
        if isSame || hasMoved {
            if known > start, knownEpoch != start {
                start = known + 1
                if !isClean { base = start }
                data[hash: epoch]["since"] = ByteString(start)
                data[hash: epoch]["base"] = ByteString(base)
            }
            // What has moved may be missing in the replicas of its new server.
            let mode = hasMoved && mode == "all" ? "replica" : mode
            if state["mode"] == "all", mode != "all" { data[hash: epoch]["mode"] = mode }
            data[hash: epoch]["run"] = run
            data[hash: epoch]["replication"] = replication
            if state["failover"] == nil { data[hash: epoch]["failover"] = ByteString(failover) }
        } else {
            let heartbeat = data[sorted: nodes].entries.last?.score ?? 0
            isClean =
                state["mode"] == "all" && !former.isEmpty && former == state["replication"]
                && started < heartbeat
            start = max(UInt64(time), start, known) + 1
            if !isClean { base = start }
            data[hash: epoch].merge(
                [
                    "run": run, "replication": replication, "since": ByteString(start),
                    "clean": isClean ? "1" : "0", "mode": mode, "layout": layout,
                    "base": ByteString(base), "failover": ByteString(failover),
                ],
                uniquingKeysWith: { $1 }
            )
        }
        let wasRegistered = isRegistered(items)
        data[set: items].insert(".")
        data[sorted: nodes][node] = time
        return .array([
            .integer(Int64(start)), .flag(isClean), .flag(wasRegistered),
            .integer(data[string: counter]?.integer ?? 0), .integer(time), .integer(Int64(base)),
        ])
    }

    mutating func heartbeat() -> RESPValue {
        let (epoch, nodes, items, counter, leader) = (keys[0], keys[1], keys[2], keys[3], keys[4])
        let (node, lease, mode) = (arguments[0], number(1), arguments[2])

        let state = data[hash: epoch]
        let isKnown = state["since"] != nil && isRegistered(items)
        var leads = false
        if isKnown {
            data[sorted: nodes][node] = time
            if state["mode"] == "all", mode != "all" { data[hash: epoch]["mode"] = mode }
            let other = holder(leader)
            let mayLead = arguments[3] == "1"
            leads = mayLead && (other == nil || other == node)
            if leads { hold(leader, node, for: lease) }
            if !mayLead, other == node { data.remove(leader) }
        }
        let dead = data[sorted: nodes].members(upTo: time - lease - 1, limit: 16)
        return .array([
            .integer(Int64(since(epoch))), .flag(state["clean"] == "1"), .flag(isKnown),
            .integer(data[string: counter]?.integer ?? 0), .flag(leads), .integer(time),
            .array(dead.map { .bulk($0) }),
        ])
    }

    mutating func number() -> RESPValue {
        let (nodes, renewals) = (keys[0], keys[1])
        let (node, own, lifetime) = (arguments[0], arguments[1], number(2))
        func take(_ number: ByteString) -> RESPValue {
            data[hash: nodes][number] = node
            data[sorted: renewals][number] = time
            return .integer(number.integer ?? 0)
        }

        if own != "0" {
            let holder = data[hash: nodes][own]
            if holder == nil || holder == node { return take(own) }
        }
        let taken = data[hash: nodes]
        if let free = (1...1_023).lazy.map({ ByteString($0) }).first(where: { taken[$0] == nil }) {
            return take(free)
        }
        let old = data[sorted: renewals].members(upTo: time - lifetime, limit: 1).first
        return old.map { take($0) } ?? .integer(0)
    }

    mutating func condemn() -> RESPValue {
        let (nodes, items, leader, right) = (keys[0], keys[1], keys[2], keys[3])
        let (node, lease, caller) = (arguments[0], number(1), arguments[2])

        let heartbeat = data[sorted: nodes][node]
        if caller != node, let heartbeat, time - heartbeat <= lease { return .array([.integer(0)]) }
        if let other = holder(right), other != caller { return .array([.integer(1)]) }
        data[set: items].remove(".")
        if holder(leader) == node { data.remove(leader) }
        // Redis picks any 64.
        let left = data[set: items].sorted().prefix(64)
        guard !left.isEmpty else {
            data.remove(right)
            return .array([.integer(data[sorted: nodes].remove(node) ? 3 : 4)])
        }
        if heartbeat == nil { data[sorted: nodes][node] = 0 }
        hold(right, caller, for: 10_000)
        return .array([.integer(2)] + left.map { .bulk($0) })
    }
}
