import PusherProtocol
import TestRandom

/// What devices and backends send, the passage of time, and transfers of bytes and messages.
extension ClusterWorld {
    // MARK: - Devices

    func connect(_ device: ClusterDevice) throws {
        guard device.connection == nil else { return }
        let ready = nodes.filter { $0.isReady && !$0.isPaused }
        guard !ready.isEmpty else { return }
        let node = ready[random.number(ready.count)]
        let pipe = try node.broker.connect(to: random.number(shardCount))
        lastConnection += 1
        let transport = try SimulatedClient(
            pipe,
            key: Scenario.keys[device.app],
            compresses: false,
            number: lastConnection
        )
        device.connection = ClusterConnection(lastConnection, to: node, transport)
        _ = pipe.push(.max)
        trace.record { "    \(device.name) connects to \(node.name)" }
    }

    func leave(_ device: ClusterDevice) {
        guard let connection = device.connection else { return }
        if random.happens(50) { connection.transport.sendClose(mask: ClusterConnection.mask) }
        _ = connection.transport.pipe.push(.max)
        lose(device)
    }

    /// The device's connection has ended.
    func lose(_ device: ClusterDevice) {
        device.connection.take()?.transport.pipe.close()
        if !device.tracks { device.books = [:] }
    }

    func follow(_ device: ClusterDevice) {
        let channels = ClusterScenario.channels(of: device.app)
        let isHot = hotChannel.map { channels.contains($0) } ?? false
        let channel =
            isHot && random.happens(50)
            ? hotChannel ?? 0 : channels[random.number(channels.count)]
        device.followed.insert(channel)
        subscribe(device, channel)
    }

    func subscribe(_ device: ClusterDevice, _ channel: Int) {
        guard let connection = device.connection, let socketID = connection.socketID,
            connection.subscriptions[channel] == nil, !connection.leaving.contains(channel)
        else { return }
        let properties = ClusterScenario.channels[channel]
        var members = #""channel":"\#(properties.name)""#
        let data = properties.isPresence ? #"{"user_id":"\#(device.user)"}"# : nil
        if properties.isSigned {
            let text = "\(socketID):\(properties.name)\(data.map { ":" + $0 } ?? "")"
            let key = Scenario.keys[device.app]
            members += #","auth":"\#(key):\#(sign(text, with: Scenario.secrets[device.app]))""#
        }
        if let data { members += #","channel_data":\#(quoted(data))"# }
        if device.tracks {
            let position = device.books[channel]?.position
            let place = position.map { #""stream":"\#($0.stream)","serial":\#($0.serial)"# }
            members += #","position":{\#(place ?? "")}"#
        }
        trace.record {
            "    \(device.name) subscribes to \(properties.name) at \(connection.node.name)"
        }
        connection.send("pusher:subscribe", members)
        connection.subscriptions[channel] = ClusterSubscription()
    }

    func unfollow(_ device: ClusterDevice) {
        guard let channel = device.followed.randomElement(using: &random) else { return }
        device.followed.remove(channel)
        device.books[channel] = nil
        guard let connection = device.connection,
            connection.subscriptions.removeValue(forKey: channel) != nil
        else { return }
        let name = ClusterScenario.channels[channel].name
        connection.send("pusher:unsubscribe", #""channel":"\#(name)""#)
        connection.send("pusher:ping", "")
        connection.leaving.append(channel)
    }

    // MARK: - Events

    /// A client publishes a few events on a channel.
    func sendEvents(_ device: ClusterDevice) {
        guard let connection = device.connection else { return }
        let channels = connection.subscriptions.filter {
            $0.value.isGranted && ClusterScenario.channels[$0.key].isSigned
        }.keys.sorted()
        guard !channels.isEmpty else { return }
        let channel = channels[random.number(channels.count)]
        for _ in 0..<1 + random.number(3) {
            let id = addEvent(on: channel, of: .connection(connection.number), by: device)
            // Nobody is told whether it was published.
            events[id].status = .unknown
            let name = ClusterScenario.channels[channel].name
            connection.transport.send(
                #"{"event":"client-event","channel":"\#(name)","data":"@\#(id)@"}"#,
                mask: ClusterConnection.mask
            )
        }
        if random.happens(60) { _ = connection.transport.pipe.push(.max) }
    }

    /// A backend publishes one event, or several with one request.
    func publish() throws {
        let ready = nodes.filter(\.isReady)
        guard !ready.isEmpty else { return }
        let node = ready[random.number(ready.count)]
        lastRequest += 1
        let channel =
            random.happens(70)
            ? hotChannel ?? random.number(ClusterScenario.channels.count)
            : random.number(ClusterScenario.channels.count)
        let app = ClusterScenario.channels[channel].app
        let count = random.happens(75) ? 1 : 2 + random.number(3)
        let ids = (0..<count).map { _ in addEvent(on: channel, of: .request(lastRequest), by: nil) }
        let items = ids.map { id in
            let length = random.happens(10) ? 3_000 : random.number(60)
            let data = "@\(id)@" + String(repeating: "x", count: length)
            let name = ClusterScenario.channels[channel].name
            return #"{"name":"event","channel":"\#(name)","data":"\#(data)"}"#
        }
        let isBatch = count > 1
        let text = signedRequest(
            "POST",
            "/apps/\(Scenario.appIDs[app])/\(isBatch ? "batch_events" : "events")",
            body: isBatch ? #"{"batch":[\#(items.joined(separator: ","))]}"# : items[0],
            app: app,
            unixTime: unixMilliseconds / 1_000
        )
        let shard = random.number(shardCount)
        let pipe = try node.broker.connect(to: shard)
        let exchange = Exchange(pipe, text, shard: shard, outcome: .accepted)
        exchange.mayBeRefused = true
        exchanges.append((exchange, ids, node.number))
        _ = try exchange.transfer(.max, whileDraining: true)
    }

    private func addEvent(
        on channel: Int,
        of source: ClusterEvent.Source,
        by sender: ClusterDevice?
    ) -> Int {
        let event = ClusterEvent(
            id: events.count,
            channel: channel,
            source: source,
            sender: sender?.number,
            step: step,
            time: now
        )
        events.append(event)
        return event.id
    }

    private func transferExchanges() throws -> Int {
        var moved = 0
        for (exchange, ids, _) in exchanges {
            moved += try exchange.transfer(.max, whileDraining: true)
            guard let status = exchange.status else { continue }
            reach(.answer(status))
            try settle(ids, status, exchange.body)
        }
        exchanges.removeAll { $0.exchange.isAnswered }
        return moved
    }

    private func settle(_ ids: [Int], _ status: Int, _ body: String) throws {
        trace.record { "    events \(ids): \(status) \(body)" }
        for id in ids {
            switch status {
            case 200:
                events[id].status = .accepted
                guard events[id].rank != nil else {
                    throw Violation(.durability, "event \(id) was accepted, and not executed")
                }
                guard !events[id].isOfReplica else {
                    throw Violation(.durability, "event \(id) was accepted by a replica")
                }
                try checkDurability(of: id)
            case 503 where ids.count == 1 && body.contains("is not published"):
                events[id].status = .refused
                guard events[id].rank == nil else {
                    throw Violation(.answers, "event \(id) was refused, and executed")
                }
            default: events[id].status = .unknown
            }
        }
    }

    /// Checks that a promoted replica has an accepted event for which the publisher has waited.
    func checkDurability(of id: Int) throws {
        guard waitsForReplica, events[id].status == .accepted else { return }
        // A server that was replaced may have been promoted again, with what it has.
        let stray = events[id].stray
        guard !events[id].isLost, stray == nil || stray === redis.primary else {
            throw Violation(.durability, "event \(id) was accepted, and the replica lacks it")
        }
    }

    // MARK: - Time and transport

    func wait(_ milliseconds: Int) throws {
        environment.milliseconds += milliseconds
        try redis.advance(to: unixMilliseconds)
        try advanceSentinels()
        for node in nodes where node.isPaused && now > node.pausedUntil { resume(node) }
    }

    func transfer(_ device: ClusterDevice, _ limit: Int) throws -> Int {
        guard let connection = device.connection else { return 0 }
        let pushed = connection.transport.pipe.push(limit)
        let (count, frames) = try connection.transport.read(limit)
        for frame in frames where device.connection === connection {
            try receive(frame, device, connection)
        }
        if device.connection === connection, connection.transport.pipe.hasEnded { lose(device) }
        return pushed + count
    }

    /// The nodes do what they can, and Redis nothing.
    func runNodes() {
        for node in nodes {
            node.turn()
            for sender in 0..<shardCount where !node.isPaused {
                for receiver in 0..<shardCount {
                    node.broker.deliver(.max, from: sender, to: receiver)
                }
            }
        }
    }

    /// Clients publish events while Redis answers slowly.
    func fireVolley() throws {
        let device = devices[random.number(devices.count)]
        for _ in 0..<1 + random.number(5) {
            sendEvents(device)
            _ = device.connection?.transport.pipe.push(.max)
            runNodes()
            for _ in 0..<random.number(4) { try serveInPart() }
            runNodes()
        }
    }

    /// The connections of all nodes to servers and Sentinels, in a fixed order.
    var links: [RedisLink] { redis.links + (sentinels?.links ?? []) }

    /// Executes up to `count` commands of a connection; returns their number.
    func execute(_ count: Int, of link: RedisLink) throws -> Int {
        var executed = 0
        while executed < count, link.isOpen, !link.commands.isEmpty {
            let command = link.commands.removeFirst()
            executed += 1
            switch link.end {
            case .redis(let process, _, _): try redis.execute(command, at: process, of: link)
            case .sentinel(let sentinel):
                sentinel.execute(command, of: link, at: unixMilliseconds)
            }
        }
        return executed
    }

    /// Redis reads, executes and writes something of one connection.
    func serveInPart() throws {
        let links = links
        guard !links.isEmpty else { return }
        let link = links[random.number(links.count)]
        if random.happens(60) { _ = try link.receive(1 + random.number(2_000)) }
        if random.happens(60) { _ = try execute(1 + random.number(4), of: link) }
        if random.happens(60) { _ = link.send(1 + random.number(600)) }
    }

    /// Redis reads, executes and writes what it can.
    private func serve() throws -> Int {
        var moved = 0
        for link in links {
            moved += try link.receive(.max)
            moved += try execute(.max, of: link)
        }
        for link in links {
            moved += link.send(.max)
            link.closeIfEnded()
        }
        if !redis.isReplicaHeld { try redis.replicate() }
        return moved
    }

    /// Everything is transferred once.
    @discardableResult
    func runRound() throws -> Bool {
        var moved = try transferExchanges()
        for device in devices { moved += try transfer(device, .max) }
        for node in nodes { node.turn() }
        moved += try serve()
        for node in nodes where !node.isPaused {
            node.turn()
            for sender in 0..<shardCount {
                for receiver in 0..<shardCount {
                    moved += node.broker.deliver(.max, from: sender, to: receiver)
                }
            }
            node.turn()
        }
        // Most answers come in time.
        for node in nodes where random.happens(80) {
            moved += try sendWebhook(of: node, losesAnswer: random.happens(5))
        }
        for device in devices { moved += try transfer(device, .max) }
        return moved > 0 || nodes.contains { !$0.isPaused && $0.broker.hasWork }
    }

    func runUntilIdle() throws {
        for _ in 0..<500 {
            let isMoving = try runRound()
            let isStillMoving = try runRound()
            if !isMoving, !isStillMoving { return }
        }
        throw Violation(.answers, "the cluster does not become idle")
    }
}
