import Archive
package import Broker
package import BrokerConfiguration
package import Cluster
import FanfareServer
import Gateway
import HTTPServer
package import Net
import PusherProtocol
package import Shard
import Webhooks

/// A broker without threads: shards take turns, and messages between them are delivered, only on request.
///
/// Everything else is the production code: reactor and sockets, HTTP, WebSocket, sessions, homes of channels and users.
/// On one thread, with a given clock and given random numbers, a run is deterministic.
package final class SimulatedBroker {
    /// A shard, which in production belongs to an actor on a loop's thread.
    private struct Stage {
        let core: ShardCore
        let site: HTTPSite
    }

    /// A weak reference to a stream.
    private struct WeakStream {
        weak var stream: Stream?
    }

    /// The number of shards.
    package var shardCount: Int { stages.count }

    private let settings: ServerSettings
    private var registry: AppRegistry
    private var stages: [Stage] = []
    /// The undelivered messages between shards, by sender and receiver.
    private let links: [[Mailbox<ShardMessage>]]
    private let inboxes: [Mailbox<ShardMessage>]
    private var streams: [WeakStream] = []

    /// Creates a broker without connections.
    ///
    /// - Parameters:
    ///   - configuration: The configuration; listeners are ignored, and webhooks but for a cluster's.
    ///   - clocks: The clock of each shard; their number is that of the shards.
    ///   - random: The random numbers for socket IDs.
    ///   - batchLengthMax: The maximum size of a fan-out, in bytes; `nil` for the default.
    ///   - archive: The archive of stored channels.
    ///   - cluster: What the shards know of the cluster; `nil` for a broker alone.
    ///   - dialer: What connects a node to Redis; `nil` for a broker alone.
    ///   - confirmationPortions: How many clients with tokens are asked in a turn; `nil` for a choice by `random`.
    /// - Throws: The failed call: no descriptor or memory is left.
    package init(
        _ configuration: Configuration,
        clocks: [LoopClock],
        random: @escaping () -> UInt64,
        batchLengthMax: Int? = nil,
        archive: (any MessageArchive)? = nil,
        cluster: ClusterSettings? = nil,
        dialer: (any RedisDialer)? = nil,
        confirmationPortions: ConfirmationPortions? = nil
    ) throws(SystemError) {
        let streamSeed = random()
        let portions: ConfirmationPortions =
            streamSeed % 3 == 0 ? .smallest : ConfirmationPortions(replayLengthMin: 1_000)
        settings = ServerSettings(
            configuration,
            shardCount: clocks.count,
            // So small that few members and channels exercise the code for many.
            smallPresenceChannelMax: 1,
            leaving: LeaveQueue.Settings(atOnceMax: 1, portionMax: 2),
            confirmationPortions: confirmationPortions ?? portions,
            streamSeed: streamSeed,
            cluster: cluster
        )
        registry = AppRegistry(configuration.apps)
        var loops: [EventLoop] = []
        for number in clocks.indices { loops.append(try EventLoop(name: "loop \(number)")) }
        links = clocks.indices.map { _ in loops.map { Mailbox(wakes: $0) } }
        inboxes = loops.map { Mailbox(wakes: $0) }
        for (number, clock) in clocks.enumerated() {
            let reactor = try Reactor(loop: loops[number], clock: clock)
            let context = ShardContext(
                reactor: reactor,
                settings: settings,
                registry: registry,
                links: ShardLinks(
                    of: number,
                    speakingInto: links[number],
                    hearing: inboxes[number]
                ),
                archive: archive
            )
            let core = ShardCore(
                context,
                random: RandomPool(source: random),
                makeSharedHome: cluster.map { cluster in
                    { cluster.makeHome(of: $0, $1, $2, dialedBy: dialer) }
                }
            )
            if let batchLengthMax { reactor.batchLengthMax = batchLengthMax }
            core.watchLiveness()
            stages.append(Stage(core: core, site: core.makeSite(SiteSettings(configuration))))
        }
    }

    deinit { for stage in stages { stage.core.shutDown() } }

    /// Accepts a connection of a client or a backend, as a listener would.
    ///
    /// - Parameters:
    ///   - descriptor: One end of a socketpair(2).
    ///   - shard: The shard that accepts it.
    /// - Throws: The failed call.
    package func accept(
        _ descriptor: consuming FileDescriptor,
        on shard: Int
    ) throws(SystemError) {
        let stage = stages[shard]
        let stream = try stage.core.context.reactor.adopt(
            descriptor,
            limits: settings.streamLimits,
            delegate: HTTPConnection(site: stage.site)
        )
        streams.append(WeakStream(stream: stream))
    }

    /// Connects a client or a backend.
    ///
    /// - Parameters:
    ///   - bufferSize: The approximate size of the broker's socket buffer, in bytes.
    ///   - shard: The shard that accepts the connection.
    /// - Returns: The peer's end.
    /// - Throws: The failed call.
    package func connect(
        bufferSize: Int = 200_000,
        to shard: Int
    ) throws(SystemError) -> Pipe {
        let (pipe, end) = try Pipe.make(bufferSize: bufferSize)
        try accept(FileDescriptor(end, from: "socketpair"), on: shard)
        return pipe
    }

    /// Continues what an earlier run has kept in the archive.
    package func restore(_ contents: ArchiveContents) {
        for stage in stages { stage.core.restore(contents) }
    }

    /// What is in memory alone.
    package var spooled: SpooledState {
        var spooled = SpooledState()
        for stage in stages { spooled.add(stage.core.spooled) }
        return spooled
    }

    /// Continues what an earlier run had in memory.
    package func restore(_ spooled: SpooledState) {
        for stage in stages { stage.core.restore(spooled) }
    }

    /// The sessions of stock clients.
    package var storedSessions: StoredSessions {
        var sessions = StoredSessions(isComplete: true)
        for stage in stages { sessions.add(stage.core.storedSessions) }
        return sessions
    }

    /// Continues sessions of an earlier run.
    package func restore(_ sessions: StoredSessions) {
        for stage in stages { stage.core.restore(sessions) }
    }

    /// Sends a reply of the archive to a shard, which reads it in its next turn.
    package func send(_ reply: ArchiveReply, to shard: Int) { inboxes[shard].post(.archive(reply)) }

    /// Runs one turn of a shard, without waiting.
    package func turn(_ shard: Int) { stages[shard].core.turn(waitingAtMost: .zero) }

    /// Whether a shard has work left for its next turn, even if nothing arrives.
    package var hasWork: Bool { stages.contains(where: \.core.hasWork) }

    // MARK: - Cluster

    /// Connects the homes of all shards to the cluster.
    package func joinCluster() { for stage in stages { stage.core.joinCluster() } }

    /// Reports that the webhook of an event was delivered.
    package func settle(_ id: QueuedEvent.ID) {
        inboxes[id.queue % shardCount].post(.webhookSettled(id, isDelivered: true))
    }

    /// Removes the node from the cluster, as a stopping broker does.
    package func leaveCluster() { for stage in stages { stage.core.leaveCluster() } }

    /// Uses the socket IDs of a node.
    package func use(socketIDBase: UInt64) {
        for stage in stages { stage.core.use(socketIDBase: socketIDBase) }
    }

    // MARK: - Between the shards

    /// The number of undelivered messages from one shard to another.
    package func waitingCount(from sender: Int, to receiver: Int) -> Int {
        links[sender][receiver].count
    }

    /// Whether a shard's links hold more events than the limit for accepting triggers.
    package func areEventsBehind(from sender: Int) -> Bool {
        links[sender].contains { $0.weight > settings.relayedEventsMax }
    }

    /// Injected fault: counts every undelivered message of a shard as an event.
    package func countEverything(from sender: Int) {
        for line in links[sender] {
            let waiting = line.drain()
            line.post(waiting, weight: waiting.count)
        }
    }

    /// Injected fault: acknowledges undelivered events before their homes have processed them.
    package func acknowledgeEarly(from sender: Int, to receiver: Int) {
        let waiting = links[sender][receiver].drain()
        links[sender][receiver].post(waiting, weight: waiting.count(where: \.isEvent))
        for case .publish(_, _, let receipt) in waiting {
            inboxes[sender].post(.published(number: receipt.number, .accepted))
        }
    }

    /// Injected fault: acknowledges events on channels without subscribers that do not reach their homes.
    package func loseVacant(from sender: Int, to receiver: Int) {
        let waiting = links[sender][receiver].drain()
        let rest = waiting.filter { message in
            guard case .publish(let address, let event, let receipt) = message,
                stages[receiver].core.channels.table[address] == nil,
                event.key == nil, !event.needsPosition, !address.name.kind.isCache
            else { return true }
            inboxes[sender].post(.published(number: receipt.number, .accepted))
            return false
        }
        links[sender][receiver].post(rest, weight: rest.count(where: \.isEvent))
    }

    /// Delivers messages from one shard to another, in order.
    ///
    /// - Parameters:
    ///   - limit: The maximum number.
    ///   - sender: The sending shard.
    ///   - receiver: The receiving shard, which processes them in its next turn.
    ///   - tamper: Changes the messages, to inject a fault.
    /// - Returns: The number of messages, before they are changed; 0 between a shard and itself.
    @discardableResult
    package func deliver(
        _ limit: Int,
        from sender: Int,
        to receiver: Int,
        tamper: ([LinkMessage]) -> [LinkMessage] = { $0 }
    ) -> Int {
        guard sender != receiver else { return 0 }
        let waiting = links[sender][receiver].drain()
        let rest = Array(waiting.dropFirst(limit))
        links[sender][receiver].post(rest, weight: rest.count(where: \.isEvent))
        let messages = tamper(waiting.prefix(limit).map(LinkMessage.init))
        inboxes[receiver].post(messages.map(\.message))
        return waiting.count - rest.count
    }

    // MARK: - The operator

    /// Reloads the apps; each shard applies them in ``applyReload(on:)``.
    package func reload(_ apps: [AppConfiguration]) { registry = registry.succeeded(by: apps) }

    /// Applies the last reload on a shard, and closes connections that are no longer allowed.
    package func applyReload(on shard: Int) {
        stages[shard].core.replaceApps(registry)
        while stages[shard].core.closeOrphanedConnections(upTo: 500) {}
    }

    /// Drains up to `count` clients of a shard; new connections are refused at once.
    package func drain(_ shard: Int, upTo count: Int) {
        stages[shard].core.stage = .draining
        stages[shard].site.finish()
        _ = stages[shard].core.drain(upTo: count)
    }

    /// Lets every token count as new that no client has used, as behind a start that reads all sessions back.
    package func knowsAllSessions() {
        restore(StoredSessions(isComplete: true))
    }

    // MARK: - Sizes

    /// What all shards keep for recovery.
    package func retainedSizes() -> RetainedSizes {
        stages.map(\.core.retainedSizes).reduce(RetainedSizes()) { $0.merged(with: $1) }
    }

    /// The sizes of all tables that grow with the behaviour of peers.
    package func tableSizes() -> TableSizes {
        var tableSizes = TableSizes()
        for stage in stages {
            for (table, count) in stage.core.tableSizes { tableSizes.add(table, count) }
        }
        tableSizes.add("HTTP connections", stages.map(\.site.connectionCount).reduce(0, +))
        tableSizes.add("messages on links", links.joined().map(\.count).reduce(0, +))
        tableSizes.add("streams in memory", streams.count { $0.stream != nil })
        tableSizes.add("places in quotas", settings.admissionControl.isEmpty ? 0 : 1)
        tableSizes.add("places in apps' quotas", registry.quotas.values.count { !$0.isUnused })
        return tableSizes
    }
}

extension ConfirmationPortions {
    /// So small that few clients are asked in several turns.
    package static let smallest = ConfirmationPortions(
        notedMax: 2,
        askedMax: 1,
        replayLengthMin: 1_000
    )
}
