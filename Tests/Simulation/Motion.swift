import FanfareServer

/// What moves in the world: bytes, letters between shards, and time.
extension World {
    @discardableResult
    func push(_ client: Conversation, _ count: Int) -> Int {
        let pushed = client.client.pipe.push(count)
        if pushed > 0 { client.speak() }
        return pushed
    }

    @discardableResult
    func read(_ client: Conversation, _ limit: Int) throws -> Int {
        guard !client.isStalled, !client.isGone else { return 0 }
        let (count, sightings) = try client.client.read(limit)
        for sighting in sightings {
            trace.note { "    \(client.name) sees \(sighting)" }
            try client.see(sighting)
        }
        if client.client.pipe.hasEnded { try client.seeEnd() }
        return count
    }

    func pursue(_ exchange: Exchange, _ limit: Int) throws -> Int {
        let count = try exchange.pursue(limit, whileDraining: isDraining)
        if exchange.isAnswered {
            trace.note {
                "    \(exchange.text.prefix(60)) … is answered \(exchange.status ?? 0) \(exchange.body)"
            }
            meet(.answer(exchange.status ?? 0))
            noteAccepted(exchange)
            exchanges.removeAll { $0 === exchange }
        }
        return count
    }

    func turn(_ shard: Int) {
        let shard = shard % schedule.shardCount
        if broker.areEventsBehind(from: shard) {
            for exchange in exchanges where exchange.shard == shard {
                exchange.mayBeRefused = true
            }
        }
        if variant == .countedMembership { broker.countEverything(from: shard) }
        broker.turn(shard)
        guard variant == .earlyAnswer else { return }
        for hearer in 0..<schedule.shardCount where hearer != shard {
            broker.acknowledgeEarly(from: shard, to: hearer)
        }
    }

    /// Publishes many events at once, and lets everybody go on until they are answered.
    func flood(_ app: Int, _ channel: Int, _ count: Int, _ length: Int) throws {
        // Whoever had something to read has read it, and who does not read is known to have stalled.
        for _ in 0..<15 {
            wait(200)
            try bustle()
        }
        meet(.flood)
        isFlooding = true
        defer { isFlooding = false }
        for number in 0..<count {
            let request = Request.trigger(
                app: app,
                channels: [channel],
                length: length,
                leavingOut: nil,
                isSigned: true
            )
            _ = try ask(request, shard: number)
        }
        for _ in 0..<60 {
            try bustle()
            wait(100)
        }
    }

    @discardableResult
    func carry(_ limit: Int, _ speaker: Int, _ hearer: Int) -> Int {
        guard speaker != hearer else { return 0 }
        let count = min(limit, broker.waitingCount(from: speaker, to: hearer))
        guard count > 0 else { return 0 }
        broker.carry(limit, from: speaker, to: hearer) { letters in
            self.trace.note { "    \(speaker) → \(hearer): \(letters.map(\.subject))" }
            return self.variant?.tamper(letters, &self.mishaps) ?? letters
        }
        return count
    }

    /// Everybody moves all they can, once.
    ///
    /// - Returns: Whether anything has moved.
    @discardableResult
    func bustle() throws -> Bool {
        var moved = 0
        for client in clients { if let client { moved += push(client, .max) } }
        for exchange in exchanges { moved += try pursue(exchange, .max) }
        for shard in 0..<schedule.shardCount { turn(shard) }
        for speaker in 0..<schedule.shardCount {
            for hearer in 0..<schedule.shardCount { moved += carry(.max, speaker, hearer) }
        }
        for client in clients {
            guard let client else { continue }
            let wasGone = client.isGone
            moved += try read(client, .max) + (client.isGone == wasGone ? 0 : 1)
        }
        return moved > 0 || broker.hasWork
    }

    /// Lets seconds pass in which everybody goes on.
    func pass(_ seconds: Int) throws {
        for _ in 0..<seconds {
            nature.milliseconds += 1_000
            try bustle()
        }
    }

    /// Lets a moment pass.
    func wait(_ milliseconds: Int) { nature.milliseconds += milliseconds }
}
