import FanfareClient
import PusherProtocol

/// The network, the backend, the broker's restarts, and the passage of time.
extension LeaseWorld {
    // MARK: - Devices

    func addDevice() {
        let number = devices.count + 1
        var options = ClientOptions()
        options.network.transport = ClientTransport(Opener(world: self, index: number - 1))
        options.clock = clock.clientClock
        options.signer = LocalSigner(key: Scenario.keys[0], secret: Scenario.secrets[0])
        // No random part: a run is reproducible.
        options.reconnection.backoff = Backoff(floor: .seconds(1), window: .zero)
        options.network.activityTimeout = .seconds(20)
        options.network.pongTimeout = .seconds(10)
        options.network.checksConnectionOnChange = false
        options.recovery.resubscribeGrace =
            variant == .leftForgotten ? .zero : .milliseconds(LeaseScenario.resubscribeGrace)
        if isSlow { options.limits.pendingCallbackCountMax = LeaseScenario.slowReaderMax }
        let client = Fanfare(
            key: Scenario.keys[0],
            endpoint: .plain(host: "localhost"),
            options: options
        )
        devices.append(LeaseDevice(number: number, client))
    }

    private struct Opener: TransportOpener {
        unowned let world: LeaseWorld
        let index: Int

        func open(
            _ request: TransportRequest,
            receiver: any TransportReceiver
        ) -> any TransportConnection {
            world.open(request.target, for: world.devices[index], receiver)
        }
    }

    private func open(
        _ target: String,
        for device: LeaseDevice,
        _ receiver: any TransportReceiver
    ) -> LeaseConnection {
        abandon(device.connection)
        let connection = LeaseConnection(
            device.isOnline ? try? connect(target) : nil,
            receiver,
            tamper: { [unowned self, unowned device] in tamper($0, from: device) }
        )
        device.connection = connection
        return connection
    }

    private func connect(_ target: String) throws -> SimulatedClient {
        let pipe = try broker.connect(to: random.number(shardCount))
        lastConnection += 1
        return try SimulatedClient(
            pipe,
            target: target,
            compresses: false,
            number: lastConnection,
            keepsTexts: true
        )
    }

    /// The broker learns after a while that a silent connection has ended.
    private func abandon(_ connection: LeaseConnection?) {
        guard let connection, connection.isDead, let pipe = connection.transport?.pipe else {
            return
        }
        abandoned.append((pipe, now + random.number(40_000)))
    }

    /// What a client sends, with the injected bug.
    private func tamper(_ message: ClientMessage, from device: LeaseDevice) -> ClientMessage {
        trace.record { "    \(device.name) sends \(message)" }
        guard case .subscribe(let name, let auth, let data, var request?) = message,
            let channel = LeaseScenario.channels.firstIndex(of: name),
            let position = request.position
        else { return message }
        // A channel that was held back continues before what the client has received.
        if isSlow {
            let position = Position(stream: position.stream.text, serial: position.serial)
            device.uses[channel].position = position
        }
        var serial = position.serial
        switch variant {
        case .positionTooLow: serial -= min(serial, 1)
        case .positionTooHigh: serial += 1
        case .laterLeaseMoves:
            guard let moved = device.uses[channel].moved.take(),
                moved.stream == position.stream.text
            else { return message }
            serial = moved.serial
        default: return message
        }
        request.position = PusherProtocol.ChannelPosition(stream: position.stream, serial: serial)
        return .subscribe(channel: name, auth: auth, channelData: data, position: request)
    }

    func transfer(_ device: LeaseDevice, _ count: Int) throws -> Int {
        guard let connection = device.connection else { return 0 }
        return try connection.transfer(count) { (message, pass) throws(Violation) in
            trace.record { "    \(device.name) receives \(message)" }
            try device.receive(message, pass, in: self)
        }
    }

    // MARK: - Backend

    func publish(on channel: Int) throws {
        let excluded =
            random.happens(10) ? devices[random.number(devices.count)].client.socketID : nil
        let event = LeaseEvent(id: events.count, channel: channel, excluded: excluded)
        events.append(event)
        let except = excluded.map { #","socket_id":"\#($0)""# } ?? ""
        let text = signedRequest(
            "POST",
            "/apps/\(Scenario.appIDs[0])/events",
            body: #"{"name":"event","channel":"\#(LeaseScenario.channels[channel])","#
                + #""data":"\#(event.id)","info":"position"\#(except)}"#,
            app: 0,
            unixTime: Int64(now / 1_000)
        )
        let shard = random.number(shardCount)
        let pipe = try broker.connect(to: shard)
        let exchange = Exchange(pipe, text, shard: shard, outcome: .accepted)
        exchanges.append((exchange, event.id))
        _ = try exchange.transfer(.max, whileDraining: false)
    }

    private func transferExchanges() throws -> Int {
        var moved = 0
        for (exchange, event) in exchanges {
            moved += try exchange.transfer(.max, whileDraining: false)
            guard exchange.status == 200 else { continue }
            events[event].isAccepted = true
            if let position = position(in: exchange.body) { try record(event, at: position) }
        }
        exchanges.removeAll { $0.exchange.isAnswered }
        return moved
    }

    /// The position in an answer, without a regular expression, which would take half of a run's time.
    private func position(in answer: String) -> Position? {
        let parts = answer.split(separator: "\"")
        guard let index = parts.firstIndex(of: "stream"), index + 5 < parts.count,
            let serial = UInt64(parts[index + 5].dropFirst().prefix { $0.isNumber })
        else { return nil }
        return Position(stream: String(parts[index + 2]), serial: serial)
    }

    // MARK: - The broker's restarts

    /// Restarts the broker, with or without what it has kept.
    func restart(keepsStreams: Bool) throws {
        for device in devices { device.connection?.cut() }
        if keepsStreams { try runUntilIdle() }
        let streams = broker.spooled
        for device in devices { device.connection?.cut() }
        for (pipe, _) in abandoned { pipe.close() }
        (exchanges, abandoned) = ([], [])
        broker = try Self.start(shardCount, environment)
        if keepsStreams { broker.restore(streams) }
        reach(keepsStreams ? .stop : .kill)
    }

    // MARK: - Time and transport

    func wait(_ milliseconds: Int) {
        environment.milliseconds += milliseconds
        for (pipe, until) in abandoned where until <= now { pipe.close() }
        abandoned.removeAll { $0.until <= now }
        clock.fire()
    }

    func runRound() throws -> Bool {
        var moved = try transferExchanges()
        for device in devices { moved += try transfer(device, .max) }
        for shard in 0..<shardCount { broker.turn(shard) }
        for sender in 0..<shardCount {
            for receiver in 0..<shardCount {
                moved += broker.deliver(.max, from: sender, to: receiver)
            }
        }
        for device in devices { moved += try transfer(device, .max) }
        if !isSlow { runApps() }
        return moved > 0 || broker.hasWork
    }

    /// Lets all apps read what has arrived, and some of them load a state.
    func runApps() {
        executor.run()
        guard !loads.isEmpty, random.happens(50) else { return }
        loads.removeFirst().resume()
        executor.run()
    }
}
