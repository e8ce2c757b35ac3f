import Synchronization

extension BrokerServer {
    /// The time between two portions of clients that are closed.
    private static var tick: Duration { .milliseconds(20) }

    /// Closes the listeners, asks every client to reconnect elsewhere (4200), and ends the loops.
    ///
    /// First `/health` says 503 for the time of `shutdown.notice`; then clients are closed at the pace of
    /// `shutdown.pace`, requests that are under way are answered, and queues and webhooks are sent.
    ///
    /// - Parameter deadline: What is still queued after this long is dropped, and webhooks stay in their file; `nil` for
    ///   the configuration's `shutdown.deadline`.
    public func stop(within deadline: Duration? = nil) async {
        guard !isStopping.exchange(true, ordering: .acquiringAndReleasing) else {
            return await waitUntilStopped()
        }
        let order = shutdown.withLock { $0 }
        let end = ContinuousClock.now + (deadline ?? .seconds(order.deadline))
        for shard in shards { await shard.giveNotice() }
        let notice = ContinuousClock.now + .seconds(order.notice)
        if order.notice > 0 { try? await ContinuousClock().sleep(until: min(notice, end)) }
        await metricsDoor.close()
        for shard in shards { await shard.closeListeners() }
        await webhookService.holdDepartures()
        await sendClientsAway(at: order.pace, until: end)
        // While the loops still run, so that whoever waits for their end waits for this as well.
        await webhookService.stop(within: max(.zero, end - ContinuousClock.now))
        for shard in shards { await shard.stop() }
        await waitUntilStopped()
    }

    /// Closes clients, and returns when nothing is open any more, or when the time is over.
    private func sendClientsAway(at perSecond: Int, until end: ContinuousClock.Instant) async {
        let start = ContinuousClock.now
        var count = 0
        for shard in shards { count += await shard.connectionCount }
        let pace = DrainPace(perSecond: perSecond, count: count, time: end - start)
        var closedCount = 0
        while true {
            let elapsed = ContinuousClock.now - start + Self.tick
            var due = pace.closedCount(after: elapsed, of: count) - closedCount
            var areLeft = false
            for (number, shard) in shards.enumerated() {
                // In equal parts; what one shard has too few for is the others'.
                let shardCount = shards.count - number
                let drained = await shard.drain(upTo: (due + shardCount - 1) / shardCount)
                due -= drained.closedCount
                closedCount += drained.closedCount
                if drained.isAnyOpen { areLeft = true }
            }
            guard areLeft, ContinuousClock.now < end else { return }
            try? await Task.sleep(for: Self.tick)
        }
    }
}
