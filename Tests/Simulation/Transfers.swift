import Shard

/// Transfers of bytes and messages, and the passage of time.
extension World {
    @discardableResult
    func push(_ client: ClientModel, _ count: Int) -> Int {
        let pushed = client.transport.pipe.push(count)
        if pushed > 0 { client.recordActivity() }
        return pushed
    }

    @discardableResult
    func read(_ client: ClientModel, _ limit: Int) throws -> Int {
        guard !client.isStalled, !client.isGone else { return 0 }
        let (count, frames) = try client.transport.read(limit)
        for frame in frames where variant?.loses(frame) != true {
            trace.record { "    \(client.name) sees \(frame)" }
            try client.receive(frame)
        }
        if client.transport.pipe.hasEnded { try client.receiveEnd() }
        return count
    }

    func transfer(_ exchange: Exchange, _ limit: Int) throws -> Int {
        let count = try exchange.transfer(limit, whileDraining: isDraining)
        if exchange.isAnswered {
            trace.record {
                "    \(exchange.text.prefix(60)) … is answered \(exchange.status ?? 0) \(exchange.body)"
            }
            reach(.answer(exchange.status ?? 0))
            recordOutcome(exchange)
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
        for receiver in 0..<schedule.shardCount where receiver != shard {
            switch variant {
            case .earlyAnswer: broker.acknowledgeEarly(from: shard, to: receiver)
            case .vacantUncounted: broker.loseVacant(from: shard, to: receiver)
            default: break
            }
        }
    }

    /// Publishes many events at once, and runs rounds until they are answered.
    func flood(_ app: Int, _ channel: Int, _ count: Int, _ length: Int) throws {
        // Fast clients have read everything by then, and stalled ones are known to be.
        for _ in 0..<15 {
            wait(200)
            try runRound()
        }
        reach(.flood)
        isFlooding = true
        defer { isFlooding = false }
        for number in 0..<count {
            let request = Request.trigger(
                app: app,
                channels: [channel],
                length: length,
                excluded: nil,
                isSigned: true
            )
            _ = try begin(request, shard: number)
        }
        for _ in 0..<60 {
            try runRound()
            wait(100)
        }
    }

    @discardableResult
    func deliver(_ limit: Int, _ sender: Int, _ receiver: Int) -> Int {
        guard broker.waitingCount(from: sender, to: receiver) > 0 else { return 0 }
        return broker.deliver(limit, from: sender, to: receiver) { messages in
            self.trace.record { "    \(sender) → \(receiver): \(messages.map(\.subject))" }
            return self.variant?.tamper(messages, &self.faultRandom) ?? messages
        }
    }

    /// Runs one round: every client, exchange, shard and link transfers all it can.
    ///
    /// - Returns: Whether anything was transferred.
    @discardableResult
    func runRound() throws -> Bool {
        var moved = 0
        for client in clients { if let client { moved += push(client, .max) } }
        for exchange in exchanges { moved += try transfer(exchange, .max) }
        for shard in 0..<schedule.shardCount { turn(shard) }
        for sender in 0..<schedule.shardCount {
            for receiver in 0..<schedule.shardCount { moved += deliver(.max, sender, receiver) }
        }
        for client in clients {
            guard let client else { continue }
            let wasGone = client.isGone
            moved += try read(client, .max) + (client.isGone == wasGone ? 0 : 1)
        }
        return moved > 0 || broker.hasWork
    }

    /// Advances the clock, with a round after each second.
    func advance(_ seconds: Int) throws {
        for _ in 0..<seconds {
            environment.milliseconds += 1_000
            try runRound()
        }
    }

    /// Advances the clock without a round.
    func wait(_ milliseconds: Int) { environment.milliseconds += milliseconds }
}
