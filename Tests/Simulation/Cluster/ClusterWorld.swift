import Net
import Redis
import Shard
import TestRandom

/// Up to three nodes, a Redis with a replica, clients and a backend, with a simulated clock.
final class ClusterWorld: SimulatedWorld {
    let environment: World.Environment
    let variant: ClusterVariant?
    let redis: SimulatedRedis
    /// The Sentinels by which nodes find the primary; `nil` if they know its address.
    let sentinels: SimulatedSentinels?
    let shardCount: Int
    var random: SeededRandom
    var trace: Trace
    /// Whether the run has only faults in which Redis loses nothing.
    let isLossless: Bool

    /// Whether publishers wait for the replica.
    let waitsForReplica: Bool
    /// The channel of most events; `nil` for none.
    let hotChannel: Int?

    private(set) var step = 0
    var nodes: [ClusterNode] = []
    var lastNode = 0
    /// When a node has ended last, or was paused for longer than its lease.
    var lastDeathAt = -1_000_000
    var devices: [ClusterDevice] = []
    var lastConnection = 0
    var events: [ClusterEvent] = []
    /// The last event of each source on each channel that was executed.
    var lastExecuted: [ClusterEvent.Source: [Int: Int]] = [:]
    /// The number of executed events.
    var executedCount = 0
    /// The events before this one have reached everybody, or everybody was told.
    var toldCount = 0
    var settledCount = 0
    /// The requests in progress, with the IDs of their events.
    var exchanges: [(exchange: Exchange, events: [Int], node: Int)] = []
    var lastRequest = 0
    var endpoint = ClusterEndpoint()
    var situations: [Situation: Int] = [:]

    /// The milliseconds since 1970.
    var unixMilliseconds: Int64 { ClusterScenario.epoch + Int64(now) }

    init(seed: UInt64, _ variant: ClusterVariant?, trace: Trace) throws {
        random = SeededRandom(seed: seed)
        self.variant = variant
        self.trace = trace
        environment = World.Environment(seed: seed)
        shardCount = 1 + random.number(2)
        isLossless = random.happens(35)
        waitsForReplica = random.happens(30)
        let topics = ClusterScenario.channels.flatMap { channel in
            ClusterScenario.keys.map { keys in
                "\(keys.announcements(.init(app: Scenario.appIDs[channel.app], name: channel.name)))"
            }
        }
        redis = SimulatedRedis(
            topics: topics,
            time: ClusterScenario.epoch + Int64(environment.milliseconds),
            pushesFollowReply: random.happens(50),
            variant: variant
        )
        // Of its own random numbers, so that the runs without Sentinels do not depend on those with.
        var choices = SeededRandom(seed: ~seed)
        let usesSentinels = variant?.needsSentinels ?? false || choices.happens(40)
        let sentinelCount = choices.pick([(1, 1), (1, 2), (8, 3)])
        sentinels =
            usesSentinels
            ? SimulatedSentinels(
                sentinelCount,
                redis,
                seed: choices.next(),
                at: environment.milliseconds,
                areSilent: variant == .announcementIgnored
            ) : nil
        hotChannel =
            random.happens(60) ? random.number(ClusterScenario.channels.count) : nil
        redis.published = { [unowned self] text, process, link in
            try executed(text, by: process, for: link)
        }
        sentinels?.promote = { [unowned self] process in try promote(process) }
        for _ in 0..<1 + random.number(3) { try startNode() }
        for number in 1...3 + random.number(4) {
            let app = random.happens(65) ? 0 : 1
            let device = ClusterDevice(
                number,
                app: app,
                user: ClusterScenario.users[random.number(ClusterScenario.users.count)],
                tracks: app == 0 && random.happens(60)
            )
            devices.append(device)
        }
    }

    func breakCycles() {
        redis.published = { _, _, _ in }
        sentinels?.promote = { _ in }
        for link in links { link.close() }
    }

    // MARK: - Run

    func play() throws {
        try advance(1)
        for _ in 0..<120 + random.number(180) {
            step += 1
            try performStep()
        }
        step += 1
        try settle()
        step += 1
        try end()
    }

    private enum StepKind {
        case connect, follow, unfollow, leave, publish, clientEvent, transfer, turn, deliver, redis
        case volley, round, wait, advance, settle, webhook
        case cut, halfCut, stall, heal, cutOff, kill, start, pause, resume, hold, failover, empty
        case killPrimary, isolatePrimary, partNode
        case leaveSentinelBehind, partSentinels, takeSentinels
    }

    private static let weights: [(weight: Int, thing: StepKind)] = [
        (12, .connect), (14, .follow), (3, .unfollow), (3, .leave), (22, .publish),
        (12, .clientEvent), (6, .transfer), (10, .turn), (8, .deliver), (22, .redis), (24, .round),
        (5, .volley),
        (14, .wait), (4, .advance), (1, .settle), (6, .webhook),
        (3, .cut), (2, .halfCut), (1, .stall), (3, .heal), (2, .cutOff), (1, .kill), (2, .start),
        (1, .pause), (2, .resume), (2, .hold), (2, .failover), (1, .empty),
    ]

    /// What happens besides where there are Sentinels.
    private static let sentinelWeights: [(weight: Int, thing: StepKind)] = [
        (1, .failover), (1, .killPrimary), (1, .isolatePrimary), (2, .partNode),
        (2, .leaveSentinelBehind), (1, .partSentinels), (1, .takeSentinels),
    ]

    private func performStep() throws {
        let device = devices[random.number(devices.count)]
        let kind = random.pick(
            sentinels == nil ? Self.weights : Self.weights + Self.sentinelWeights
        )
        trace.record { "\(step) \(kind) at \(now)" }
        switch kind {
        case .connect: try connect(device)
        case .follow: follow(device)
        case .unfollow: unfollow(device)
        case .leave: leave(device)
        case .publish: try publish()
        case .clientEvent: sendEvents(device)
        case .transfer: _ = try transfer(device, 1 + random.number(400))
        case .turn:
            if let node = anyNode() { node.turn(random.number(shardCount)) }
        case .deliver:
            let (sender, receiver) = (random.number(shardCount), random.number(shardCount))
            anyNode()?.broker.deliver(1 + random.number(3), from: sender, to: receiver)
        case .redis: try serveInPart()
        case .round: try runRound()
        case .volley: try fireVolley()
        case .wait: try wait(random.pick([(3, random.number(60)), (1, 100 + random.number(900))]))
        case .advance: try advance(1 + random.number(6))
        case .settle: try settle()
        case .webhook: try sendSomeWebhook()
        default: try injectFault(kind)
        }
        try checkServers()
        try checkIsolation()
    }

    func anyNode() -> ClusterNode? { nodes.isEmpty ? nil : nodes[random.number(nodes.count)] }

    private func injectFault(_ kind: StepKind) throws {
        switch kind {
        case .cut: try cut()
        case .halfCut: block(isDeaf: random.happens(50))
        case .stall: block(isDeaf: nil)
        case .heal: heal()
        case .cutOff: cutOff()
        case .kill: killNode()
        case .start: if nodes.count < 3 { try startNode() }
        case .pause: try pauseNode()
        case .resume: for node in nodes { resume(node) }
        case .hold: redis.isReplicaHeld.toggle()
        case .failover where sentinels != nil: if !isLossless { try failOverBySentinels() }
        case .failover: if !isLossless { try failOver() }
        case .killPrimary: if !isLossless { killPrimary() }
        case .isolatePrimary: if !isLossless { isolatePrimary() }
        case .partNode: if !isLossless { try partNode() }
        case .leaveSentinelBehind: leaveSentinelBehind()
        case .partSentinels: partSentinels()
        case .takeSentinels: takeSentinels()
        case .empty: if !isLossless, random.happens(40) { emptyRedis() }
        default: break
        }
    }
}
