import TestRandom

/// What the backend publishes, the passage of time, and transfers of bytes and messages.
extension SessionWorld {
    // MARK: - Backend

    func publish() throws {
        try publish(on: random.number(SessionScenario.channels.count))
    }

    func publish(on channel: Int) throws {
        let excluded =
            random.happens(25) ? devices[random.number(devices.count)].connection?.socketID : nil
        try publish([addEvent(on: channel, length: random.number(200), excluding: excluded)])
    }

    /// Publishes more at once on a channel than the queue of a device holds that has stopped reading, and a few events on
    /// the others.
    func flood(_ device: Device) throws {
        let following = devices.filter { $0.connection?.subscriptions.isEmpty == false }
        let device = following.contains { $0 === device } ? device : following.first ?? device
        guard let connection = device.connection else { return }
        connection.isStalled = true
        let subscribed = connection.subscriptions.keys.sorted()
        let flooded =
            subscribed.isEmpty
            ? random.number(SessionScenario.channels.count)
            : subscribed[random.number(subscribed.count)]
        for number in 0..<SessionScenario.floodCount {
            let others = number < 2 ? SessionScenario.channels.indices : flooded..<flooded + 1
            try publish(others.map { addEvent(on: $0, length: SessionScenario.floodLength) })
            for _ in 0..<2 { try runRound() }
        }
        // The broker slows publishers down for readers that are behind, but not for long.
        for _ in 0..<15 {
            wait(300)
            try runRound()
        }
        reach(.flood)
        connection.isStalled = random.happens(30)
        try runRound()
    }

    private func addEvent(
        on channel: Int,
        length: Int,
        excluding excluded: String? = nil
    ) -> SessionEvent {
        let event = SessionEvent(
            id: events.count,
            channel: channel,
            step: step,
            time: now,
            excluded: excluded,
            length: length
        )
        events.append(event)
        return event
    }

    /// Publishes events with one request.
    private func publish(_ batch: [SessionEvent]) throws {
        let items = batch.map { event in
            let name = SessionScenario.channels[event.channel]
            let data = "\(event.id):" + String(repeating: "x", count: event.length)
            let except = event.excluded.map { #","socket_id":"\#($0)""# } ?? ""
            return #"{"name":"event","channel":"\#(name)","data":"\#(data)"\#(except)}"#
        }
        let text = signedRequest(
            "POST",
            "/apps/\(Scenario.appIDs[0])/batch_events",
            body: #"{"batch":[\#(items.joined(separator: ","))]}"#,
            app: 0,
            unixTime: Int64(now / 1_000)
        )
        let shard = random.number(shardCount)
        let pipe = try broker.connect(to: shard)
        let exchange = Exchange(pipe, text, shard: shard, outcome: .accepted)
        exchanges.append((exchange, batch.map(\.id)))
        _ = try exchange.transfer(.max, whileDraining: false)
    }

    /// Gives up what waits for an answer: nobody knows whether it is published.
    func dropExchanges() { exchanges = [] }

    func transferExchanges() throws -> Int {
        var moved = 0
        for (exchange, batch) in exchanges {
            moved += try exchange.transfer(.max, whileDraining: false)
            guard exchange.isAnswered else { continue }
            for event in batch { events[event].isAccepted = exchange.status == 200 }
        }
        exchanges.removeAll { $0.exchange.isAnswered }
        return moved
    }

    // MARK: - Time and transport

    func wait(_ milliseconds: Int) {
        environment.milliseconds += milliseconds
        closeAbandoned()
        // A page that is busy from its first message on, for longer than the broker waits for its first answer, is
        // taken for a client that answers ping frames alone: that is not promised.
        for device in devices where variant != .confirmedByPongFrames {
            guard let connection = device.connection, connection.isBlocked else { continue }
            let since = connection.blockedAt ?? now
            connection.blockedAt = since
            if connection.answeredMark == 0, now - since >= 3_000 { connection.isBlocked = false }
        }
    }

    @discardableResult
    func deliver(_ limit: Int, _ sender: Int, _ receiver: Int) -> Int {
        broker.deliver(limit, from: sender, to: receiver) { messages in
            self.trace.record { "    \(sender) → \(receiver): \(messages.map(\.subject))" }
            guard var fault = self.fault else { return messages }
            defer { self.fault = fault }
            return messages.compactMap { fault.tamper($0, in: self) }
        }
    }

    @discardableResult
    func runRound() throws -> Bool {
        var moved = try transferExchanges()
        for device in devices { moved += try transfer(device, .max) }
        for (connection, _) in abandoned { moved += transferAbandoned(connection) }
        for shard in 0..<shardCount { broker.turn(shard) }
        moved += archive.waitingCount
        archive.write(at: now)
        for sender in 0..<shardCount {
            for receiver in 0..<shardCount { moved += deliver(.max, sender, receiver) }
        }
        for device in devices {
            moved += try transfer(device, .max)
            moved += try process(device, .max)
        }
        return moved > 0 || broker.hasWork
    }
}
