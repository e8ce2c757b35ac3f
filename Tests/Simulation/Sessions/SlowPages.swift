/// Pages that are too slow for all that they have missed: each of their connections ends before they have processed it.
extension SessionWorld {
    /// The number of events that a slow page processes over one connection: more than a part of a replay has.
    private static var slowEventCount: Int { 6 }
    /// The number of connections within which a slow page catches up: even if each gets on by one event.
    private static var slowConnectionsMax: Int {
        SessionScenario.channels.count * SessionScenario.messagesMax + 10
    }

    /// A page comes back again and again behind an absence, and processes a few events each time.
    ///
    /// - Parameter device: The page.
    /// - Throws: It gets no further.
    func catchUpSlowly(_ device: Device) throws {
        // A page that answers by pong frames alone confirms nothing over connections as short as these.
        guard device.kind == .page, device.twin == nil, !device.books.isEmpty,
            variant != .confirmedByPongFrames
        else { return }
        lose(device, .reset)
        for _ in 0..<8 + random.number(16) {
            try publish(on: random.number(SessionScenario.channels.count))
            if random.happens(20) { try runRound() }
        }
        try runUntilIdle()
        var isGranted = false
        for _ in 0..<Self.slowConnectionsMax {
            guard let connection = try connectSlowly(device) else { continue }
            guard !device.isBeyondPromise, !connection.isWithoutRecovery else { return }
            isGranted = device.books.keys.allSatisfy { connection.subscriptions[$0] == true }
            guard isGranted else { continue }
            let hasAll = device.books.keys.allSatisfy { missedEvent(of: device, on: $0) == nil }
            if hasAll { reach(.slowPage) }
            // It has got all that the broker has for it; a settlement finds what is lost, if anything is.
            if hasAll || connection.eventCount < Self.slowEventCount { return }
        }
        // A settlement finds subscriptions without an answer, too.
        guard isGranted else { return }
        throw device.broken(
            .progress,
            "gets no further, though it has processed \(Self.slowEventCount) events over each of "
                + "\(Self.slowConnectionsMax) connections"
        )
    }

    /// Connects a page, lets it process a few events, and closes the connection behind its answers.
    ///
    /// - Returns: The connection; `nil` if the broker has closed it.
    private func connectSlowly(_ device: Device) throws -> DeviceConnection? {
        try connect(device)
        guard let connection = device.connection else { return nil }
        connection.isBlocked = true
        try runUntilIdle()
        while device.connection === connection, connection.eventCount < Self.slowEventCount {
            if connection.waiting.isEmpty {
                resubscribeAll(device)
                try runUntilIdle()
                if connection.waiting.isEmpty { break }
            }
            connection.isBlocked = false
            _ = try process(device, 1)
            connection.isBlocked = true
        }
        while connection.transport.pipe.push(.max) > 0 {
            for shard in 0..<shardCount { broker.turn(shard) }
        }
        guard device.connection === connection else { return nil }
        confirm(device)
        lose(device, .close)
        try runUntilIdle()
        return connection
    }
}
