import Redis
import RedisModel

/// Checks of what devices have got, and of what Redis holds, once everything is delivered.
extension ClusterWorld {
    // MARK: - Isolation

    /// Checks that whoever is still connected has got what was published some time ago, or was told.
    func checkIsolation() throws {
        while toldCount < events.count,
            events[toldCount].time + ClusterScenario.toldWithin * 1_000 < now
        {
            let event = events[toldCount]
            toldCount += 1
            guard event.status == .accepted, !event.isStray else { continue }
            for device in devices {
                guard let node = device.connection?.node, !node.isPaused,
                    node.resumedAt + 5_000 < event.time || node.resumedAt == 0,
                    misses(event, device)
                else { continue }
                throw device.broken(
                    .isolation,
                    "is still connected to \(node.name), and has not got event \(event.id)"
                )
            }
        }
    }

    /// Whether a device that is subscribed to a channel has not got an event that came behind its beginning.
    private func misses(_ event: ClusterEvent, _ device: ClusterDevice) -> Bool {
        guard device.isSubscribed(to: event.channel), device.number != event.sender,
            let book = device.books[event.channel], book.beganAt < event.step
        else { return false }
        return !book.received.contains(event.id)
    }

    // MARK: - Settlement

    /// Ends all faults, delivers everything, and checks the state of devices and of Redis.
    func settle() throws {
        heal()
        for node in nodes { resume(node) }
        if nodes.isEmpty { try startNode() }
        // Until nodes notice which connections they have lost, and what they have missed.
        try advance(6)
        var seconds = 0
        let reapedAt = lastDeathAt + ClusterScenario.reapedWithin * 1_000
        repeat {
            for device in devices {
                try connect(device)
                // It may have been unsubscribing when it began to follow a channel again.
                for channel in device.followed.sorted() { subscribe(device, channel) }
            }
            try advance(1)
            try runUntilIdle()
            seconds += 1
            guard seconds < 60 else { throw unsettled() }
        } while !isSettled || now < reapedAt
        // Counts are announced once a second.
        try advance(3)
        try runUntilIdle()
        guard isSettled else { throw unsettled() }
        reach(.settlement)
        try checkDeliveries()
        try checkState()
        try checkWebhooks()
        settledCount = events.count
    }

    private var isSettled: Bool {
        exchanges.isEmpty && nodes.allSatisfy(\.isReady) && sentinels?.areSettled ?? true
            && devices.allSatisfy { device in
                device.connection?.socketID != nil
                    && device.followed.allSatisfy { device.isSubscribed(to: $0) }
            }
    }

    private func unsettled() -> Violation {
        if let node = nodes.first(where: { !$0.isReady }) {
            return Violation(.answers, "\(node.name) does not join the cluster")
        }
        for device in devices {
            guard device.connection?.socketID != nil else {
                return device.broken(.answers, "cannot stay connected")
            }
            for channel in device.followed where !device.isSubscribed(to: channel) {
                let name = ClusterScenario.channels[channel].name
                return device.broken(.answers, "has no answer to its subscription to \(name)")
            }
        }
        guard sentinels?.areSettled ?? true else {
            return Violation(.answers, "the Sentinels do not agree on a primary with a replica")
        }
        return Violation(.answers, "\(exchanges[0].exchange.text.prefix(80)) … is not answered")
    }

    private func checkDeliveries() throws {
        for event in events[settledCount...] where event.status == .accepted && !event.isStray {
            for device in devices where misses(event, device) {
                throw device.broken(
                    device.tracks ? .recovery : .once,
                    "has never got event \(event.id) on \(ClusterScenario.channels[event.channel].name)"
                )
            }
        }
    }

    // MARK: - State

    private func checkState() throws {
        for (index, channel) in ClusterScenario.channels.enumerated() {
            let subscribed = devices.filter { $0.isSubscribed(to: index) }
            let data = RedisState(redis.primary.model.data, channel)
            guard data.subscriptionCount == subscribed.count else {
                throw Violation(
                    .counts,
                    "Redis counts \(data.subscriptionCount) of \(channel.name), and there are \(subscribed.count)"
                )
            }
            guard data.isOccupied == !subscribed.isEmpty else {
                throw Violation(
                    .counts,
                    "Redis has \(channel.name) as occupied: \(data.isOccupied)"
                )
            }
            if channel.isPresence {
                try checkMembers(of: channel, Set(subscribed.map(\.user)), data, subscribed)
            }
            for device in subscribed {
                guard let subscription = device.connection?.subscriptions[index] else { continue }
                let users = Set(subscribed.map(\.user))
                guard !channel.isPresence || subscription.members == users else {
                    throw device.broken(
                        .presence,
                        "has \(subscription.members.sorted()) on \(channel.name), and there are \(users.sorted())"
                    )
                }
                guard channel.isPresence || subscription.count == subscribed.count else {
                    throw device.broken(
                        .counts,
                        "received \(subscription.count ?? -1) of \(channel.name), and there are \(subscribed.count)"
                    )
                }
            }
        }
    }

    private func checkMembers(
        of channel: ClusterScenarioChannel,
        _ users: Set<String>,
        _ data: RedisState,
        _ subscribed: [ClusterDevice]
    ) throws {
        guard Set(data.members.keys) == users else {
            throw Violation(
                .presence,
                "Redis has \(data.members.keys.sorted()) on \(channel.name), and there are \(users.sorted())"
            )
        }
        for user in users {
            let nodes = Set(
                subscribed.filter { $0.user == user }.compactMap { $0.connection?.node.number }
            )
            guard data.members[user] == nodes.count else {
                throw Violation(
                    .presence,
                    "Redis has \(user) on \(data.members[user] ?? 0) nodes on \(channel.name), not \(nodes.count)"
                )
            }
        }
    }

    // MARK: - End

    /// Everybody leaves, and nothing is left in Redis; then the nodes leave.
    func end() throws {
        for device in devices {
            lose(device)
            device.books = [:]
            device.followed = []
        }
        try advance(16)
        try runUntilIdle()
        try checkLeftovers(["n", "o", "p", "q", "r", "u"])
        for node in nodes { node.broker.leaveCluster() }
        try advance(1)
        try runUntilIdle()
        try checkLeftovers(["n", "o", "p", "q", "r", "u", "i", "nodes"])
    }

    private func checkLeftovers(_ kinds: Set<String>) throws {
        for key in redis.primary.model.data.keys {
            // PREFIX:{TAG}:KIND:…
            let parts = key.description.split(separator: ":", maxSplits: 3)
            guard parts.count > 2, kinds.contains(String(parts[2])) else { continue }
            throw Violation(.memory, "Redis still has \(key), and everybody has left")
        }
    }
}

/// What Redis holds of a channel.
struct RedisState {
    private(set) var subscriptionCount = 0
    private(set) var isOccupied = false
    /// The number of nodes of each member.
    private(set) var members: [String: Int] = [:]

    init(_ data: Keyspace, _ channel: ClusterScenarioChannel) {
        let app = Scenario.appIDs[channel.app]
        for keys in ClusterScenario.keys {
            let name = "\(keys.prefix)"
            func key(_ kind: String) -> ByteString { "\(name)\(kind):\(app):\(channel.name)" }
            for count in data[hash: key("n")].values {
                subscriptionCount += Int(count.integer ?? 0)
            }
            if data[sorted: "\(name)o:\(app)"][ByteString(channel.name)] != nil {
                isOccupied = true
            }
            for (user, count) in data[hash: key("p")] {
                members[user.description, default: 0] += Int(count.integer ?? 0)
            }
        }
    }
}
