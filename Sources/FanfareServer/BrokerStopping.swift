import Archive
import BrokerConfiguration
import Cluster
import Console
import Gateway
import Observability
import Synchronization

extension BrokerServer {
    /// The time between two portions of clients that are closed.
    private static var tick: Duration { .milliseconds(20) }

    /// Closes the listeners, asks every client to reconnect elsewhere (4200), and ends the loops.
    ///
    /// First `/health` answers 503 for the time of `shutdown.notice`. Then clients are closed at the rate of
    /// `shutdown.pace`, requests in progress are answered, and queues and webhooks are sent.
    ///
    /// - Parameter deadline: The time after which queued data is dropped and webhooks stay in their file; `nil` for
    ///   `shutdown.deadline` of the configuration.
    public func stop(within deadline: Duration? = nil) async {
        guard !isStopping.exchange(true, ordering: .acquiringAndReleasing) else {
            return await waitUntilStopped()
        }
        let order = shutdown.withLock { $0 }
        let end = ContinuousClock.now + (deadline ?? .seconds(order.deadline))
        for shard in shards { await shard.announceStop() }
        cluster?.status.isDraining.store(true, ordering: .relaxed)
        let notice = ContinuousClock.now + .seconds(order.notice)
        if order.notice > 0 { try? await ContinuousClock().sleep(until: min(notice, end)) }
        await metricsServer.close()
        console?.stop()
        traces.stop()
        for shard in shards { await shard.closeListeners() }
        await webhookService.suppressDepartures()
        await awaitConfirmations(until: end)
        await drainClients(at: order.pace, until: end)
        // While the loops still run, so that ``waitUntilStopped()`` includes it.
        let rest = max(.zero, end - ContinuousClock.now)
        // Endpoints that do not answer must not keep the node from leaving the cluster in time.
        let leaving = cluster == nil ? .zero : min(Self.leaveTime, rest / 4)
        await webhookService.stop(within: rest - leaving)
        await keepState()
        await leaveCluster()
        for shard in shards { await shard.stop() }
        await waitUntilStopped()
    }

    /// The longest wait for Redis to forget the node.
    private static var leaveTime: Duration { .seconds(1) }

    /// Removes the node from the cluster, which otherwise waits for its lease.
    private func leaveCluster() async {
        guard cluster != nil else { return }
        for shard in shards { await shard.leaveCluster() }
        let end = ContinuousClock.now + Self.leaveTime
        for shard in shards {
            while await !shard.hasLeftCluster, ContinuousClock.now < end {
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// The longest wait for the last confirmations of clients with session tokens.
    private static var confirmationTime: Duration { .seconds(1) }

    /// Asks clients with session tokens to confirm what they have got, and waits for a moment: what they have not
    /// confirmed they get again.
    private func awaitConfirmations(until end: ContinuousClock.Instant) async {
        for shard in shards { await shard.askForConfirmations() }
        let end = min(end, ContinuousClock.now + Self.confirmationTime)
        for shard in shards {
            while await shard.awaitsConfirmations, ContinuousClock.now < end {
                try? await Task.sleep(for: Self.tick)
            }
        }
    }

    /// Closes clients; returns when no stream is open, or at the deadline.
    private func drainClients(at perSecond: Int, until end: ContinuousClock.Instant) async {
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
                // Equal shares; the remainder of a shard with few clients goes to the next.
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

/// The rate at which a stop closes clients.
///
/// Evenly spread rather than in a burst, since all clients reconnect at once, to another broker.
struct DrainPace: Sendable {
    private let perSecond: Double

    /// Creates a pace.
    ///
    /// - Parameters:
    ///   - perSecond: The number of clients to close each second.
    ///   - count: The number of clients. The pace is raised so that all are closed within four fifths of the time; the
    ///     rest is for the last ones to receive their close frame.
    ///   - time: The time until the deadline.
    init(perSecond: Int, count: Int, time: Duration) {
        let seconds = time / .seconds(1)
        let needed = seconds > 0 ? Double(count) / (seconds * 0.8) : .infinity
        self.perSecond = max(Double(perSecond), needed)
    }

    /// Returns how many clients are to be closed by a time.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the first client was closed.
    ///   - count: The number of clients.
    /// - Returns: A number up to `count`.
    func closedCount(after elapsed: Duration, of count: Int) -> Int {
        guard perSecond < .infinity else { return count }
        return Int(min((elapsed / .seconds(1) * perSecond).rounded(.up), Double(count)))
    }
}
