import Broker
package import FanfareServer
import HTTPServer
package import Net

/// A broker without threads: its shards turn when they are told to, and what they say to each other arrives when somebody
/// carries it.
///
/// All else is what an operator's broker runs: the reactor and its sockets, HTTP, WebSocket, the sessions, the homes of
/// channels and users. On one thread, with a clock and random numbers that are given, a run can be repeated exactly.
package final class SimulatedBroker {
    /// One shard: what an actor on a loop's thread holds otherwise.
    private struct Stage {
        let core: ShardCore
        let site: HTTPSite
    }

    /// Refers to a stream without keeping it.
    private struct Acquaintance {
        weak var stream: Stream?
    }

    /// The number of shards.
    package var shardCount: Int { stages.count }

    private let settings: ServerSettings
    private var registry: AppRegistry
    private var stages: [Stage] = []
    /// What shards say, by speaker and hearer, and has not been carried.
    private let links: [[Mailbox<ShardMessage>]]
    private let inboxes: [Mailbox<ShardMessage>]
    private var acquaintances: [Acquaintance] = []

    /// Makes a broker to which nobody is connected.
    ///
    /// - Parameters:
    ///   - configuration: What it serves; its listeners and webhooks are of no account.
    ///   - clocks: The clock of each shard, so there are as many shards.
    ///   - random: The numbers of which socket IDs are made.
    ///   - batchLengthMax: The bytes that may wait for a fan-out; `nil` for as many as usual.
    /// - Throws: The call that failed: descriptors or memory have run out.
    package init(
        _ configuration: Configuration,
        clocks: [LoopClock],
        random: @escaping () -> UInt64,
        batchLengthMax: Int? = nil
    ) throws(SystemError) {
        settings = ServerSettings(
            configuration,
            shardCount: clocks.count,
            // So few that a handful of members and channels is dealt with as many are.
            smallPresenceChannelMax: 1,
            leaving: LeaveQueue.Settings(atOnceMax: 1, portionMax: 2)
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
                )
            )
            let core = ShardCore(context, random: RandomPool(source: random))
            if let batchLengthMax { reactor.batchLengthMax = batchLengthMax }
            core.watchLiveness()
            stages.append(Stage(core: core, site: core.makeSite()))
        }
    }

    deinit { for stage in stages { stage.core.shutDown() } }

    /// Lets a client or a backend in, as a listener would.
    ///
    /// - Parameters:
    ///   - descriptor: One end of a socketpair(2).
    ///   - shard: Who accepts it.
    /// - Throws: The call that failed.
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
        acquaintances.append(Acquaintance(stream: stream))
    }

    /// Lets one shard have a turn, without waiting for anything.
    package func turn(_ shard: Int) { stages[shard].core.turn(waitingAtMost: .zero) }

    /// Whether a shard has work left for its next turn, although nothing may arrive until then.
    package var hasWork: Bool { stages.contains(where: \.core.hasWork) }

    // MARK: - Between the shards

    /// How many messages wait on the line from one shard to another.
    package func waitingCount(from speaker: Int, to hearer: Int) -> Int {
        links[speaker][hearer].count
    }

    /// Whether more events wait on a shard's links than triggers may be accepted with.
    package func areEventsBehind(from speaker: Int) -> Bool {
        links[speaker].contains { $0.weight > settings.lineLengthMax }
    }

    /// Counts whatever waits on a shard's links as an event: a deliberate fault.
    package func countEverything(from speaker: Int) {
        for line in links[speaker] {
            let waiting = line.drain()
            line.post(waiting, weight: waiting.count)
        }
    }

    /// Acknowledges the events that wait on a line before their homes have seen them: a deliberate fault.
    package func acknowledgeEarly(from speaker: Int, to hearer: Int) {
        let waiting = links[speaker][hearer].drain()
        links[speaker][hearer].post(waiting, weight: waiting.count(where: \.isEvent))
        for case .publish(_, _, let receipt) in waiting {
            inboxes[speaker].post(.published(number: receipt.number, .accepted))
        }
    }

    /// Carries messages from one shard to another, in their order.
    ///
    /// - Parameters:
    ///   - limit: How many at most.
    ///   - speaker: Who has said them.
    ///   - hearer: Who hears them in its next turn.
    ///   - tamper: What becomes of them on their way; nothing, but for a deliberate fault.
    package func carry(
        _ limit: Int,
        from speaker: Int,
        to hearer: Int,
        tamper: ([LinkMessage]) -> [LinkMessage] = { $0 }
    ) {
        let waiting = links[speaker][hearer].drain()
        let rest = Array(waiting.dropFirst(limit))
        links[speaker][hearer].post(rest, weight: rest.count(where: \.isEvent))
        let letters = tamper(waiting.prefix(limit).map(LinkMessage.init))
        inboxes[hearer].post(letters.map(\.message))
    }

    // MARK: - The operator

    /// Makes other apps the ones to be served; each shard takes them over by ``adopt(on:)``.
    package func reload(_ apps: [AppConfiguration]) { registry = registry.succeeded(by: apps) }

    /// Has a shard take over the apps of the last reload, and close those who may not stay.
    package func adopt(on shard: Int) {
        stages[shard].core.replaceApps(registry)
        while stages[shard].core.closeOrphanedConnections(upTo: 500) {}
    }

    /// Asks up to `count` of a shard's clients to go elsewhere; newcomers are told so at once.
    package func drain(_ shard: Int, upTo count: Int) {
        stages[shard].core.stage = .draining
        stages[shard].site.finish()
        _ = stages[shard].core.drain(upTo: count)
    }

    // MARK: - What it holds

    /// The sizes of all that grows with what peers do.
    package func tableSizes() -> TableSizes {
        var tableSizes = TableSizes()
        for stage in stages {
            for (table, count) in stage.core.tableSizes { tableSizes.note(table, count) }
        }
        tableSizes.note("HTTP connections", stages.map(\.site.connectionCount).reduce(0, +))
        tableSizes.note("messages on links", links.joined().map(\.count).reduce(0, +))
        tableSizes.note("streams in memory", acquaintances.count { $0.stream != nil })
        tableSizes.note("places in quotas", settings.admissionControl.isEmpty ? 0 : 1)
        tableSizes.note("places in apps' quotas", registry.quotas.values.count { !$0.isUnused })
        return tableSizes
    }
}
