import TestRandom

/// The devices of the world, and their connections.
extension SessionWorld {
    // MARK: - Devices

    func addDevice(replacing former: Device? = nil) throws {
        lastDevice += 1
        let skew = random.pick([(4, 0), (2, random.number(240_000) - 120_000), (1, 200_000)])
        let device = Device(
            number: lastDevice,
            kind: random.happens(60) ? .page : .native,
            token: makeToken(skew),
            skew: skew,
            at: now
        )
        if let index = devices.firstIndex(where: { $0 === former }) {
            devices[index] = device
        } else {
            devices.append(device)
        }
        // A client of before the broker's start, which has missed what was published meanwhile.
        guard !isComplete, step == 0, random.happens(50) else { return }
        device.books[0] = Device.Book(beganAt: -1, certainAt: startedAt - 1)
        let event = SessionEvent(
            id: events.count,
            channel: 0,
            step: 0,
            time: startedAt - 1,
            excluded: nil,
            isAccepted: true
        )
        events.append(event)
    }

    func makeToken(_ skew: Int) -> String {
        tokenCount += 1
        let part = String(random.next(), radix: 36)
        return String(now + skew, radix: 36) + "-" + part + "-0123456789abcdef"
    }

    /// The page is loaded anew: another token, and nothing is known.
    func reload(_ device: Device) throws {
        guard device.twin == nil else { return }
        lose(device, .close)
        try addDevice(replacing: device)
    }

    /// A duplicated tab, which has the token of another device.
    func addTwin(of device: Device) throws {
        guard devices.count < 6, device.twin == nil, device.books.isEmpty || random.happens(30)
        else {
            return
        }
        lastDevice += 1
        let twin = Device(
            number: lastDevice,
            kind: device.kind,
            token: device.token,
            skew: device.skew,
            at: device.createdAt
        )
        (device.twin, twin.twin) = (twin, device)
        devices.append(twin)
        reach(.twin)
    }

    // MARK: - Connections

    func connect(_ device: Device) throws {
        guard device.connection == nil else { return }
        // The broker's clock has nanoseconds: no connections are opened at once.
        wait(1)
        let pipe = try broker.connect(
            bufferSize: random.happens(50) ? 200_000 : 4_608,
            to: random.number(shardCount)
        )
        lastConnection += 1
        let transport = try SimulatedClient(
            pipe,
            key: Scenario.keys[0],
            token: device.token,
            compresses: random.happens(20),
            number: lastConnection
        )
        device.connection = DeviceConnection(transport, at: now)
        _ = transport.pipe.push(.max)
    }

    /// How a connection is lost.
    enum Loss {
        /// The device closes, and drops what waits.
        case close
        /// Both sides see a reset; what waits is processed.
        case reset
        /// Nothing gets through any more.
        case silence
    }

    func lose(_ device: Device, _ loss: Loss) {
        guard let connection = device.connection.take() else { return }
        if connection.hasClaimed { device.contactAt = now }
        switch loss {
        case .close:
            trace.record { "    \(device.name) drops \(connection.waiting)" }
            connection.waiting = []
            connection.transport.pipe.close()
        case .reset:
            connection.transport.pipe.close()
        case .silence:
            connection.isDead = true
            abandon(connection, for: random.number(40_000))
        }
    }

    /// The page processes the first of what has arrived, and closes the connection.
    func abort(_ device: Device) throws {
        guard let connection = device.connection else { return }
        connection.isBlocked = device.kind == .page
        if random.happens(50) {
            subscribe(device, SessionScenario.cacheChannel)
            for _ in 0..<3 { try runRound() }
        }
        _ = try transfer(device, .max)
        connection.isBlocked = false
        _ = try process(device, 1 + random.number(2))
        if random.happens(50) { answer(on: connection) }
        lose(device, .close)
    }

    /// An event arrives in the turn in which the broker asks the page, which answers and closes.
    func answerAndClose(_ device: Device) throws {
        guard let connection = device.connection, !connection.isStalled,
            let channel = connection.subscriptions.keys.sorted().first
        else { return }
        connection.isBlocked = false
        try publish(on: channel)
        try runRound()
        try publish(on: channel)
        wait(250)
        for shard in 0..<shardCount { broker.turn(shard) }
        guard device.connection === connection else { return }
        connection.isBlocked = device.kind == .page
        _ = try transfer(device, .max)
        connection.isBlocked = false
        _ = try process(device, 1)
        answer(on: connection)
        lose(device, .close)
    }

    /// What the device has answered arrives.
    private func answer(on connection: DeviceConnection) {
        _ = connection.transport.pipe.push(.max)
        for shard in 0..<shardCount { broker.turn(shard) }
    }

    /// The device opens another connection before it closes the present one.
    func overlap(_ device: Device) throws {
        guard let former = device.connection.take() else { return }
        abandon(former, for: random.number(100))
        try connect(device)
        reach(.overlap)
    }

    func abandon(_ connection: DeviceConnection, for time: Int) {
        connection.isAbandoned = true
        connection.waiting = []
        abandoned.append((connection, now + time))
    }

    func closeAllAbandoned() {
        for (connection, _) in abandoned { connection.transport.pipe.close() }
        abandoned = []
    }

    func closeAbandoned() {
        let count = abandoned.count
        abandoned.removeAll { connection, until in
            if now >= until { connection.transport.pipe.close() }
            return now >= until
        }
        guard abandoned.count < count else { return }
        // The pong frames of a socket that drops what it reads count if its end takes two seconds to arrive.
        for shard in 0..<shardCount { broker.turn(shard) }
    }
}
