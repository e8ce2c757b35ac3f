import Net
import Shard
import TestRandom

/// The broker, stock clients with session tokens, and a backend, with a simulated clock.
final class SessionWorld: SimulatedWorld {
    var broker: SimulatedBroker
    var archive: SimulatedArchive
    let disk = SimulatedDisk(syncsAlways: false, nil)
    let environment: World.Environment
    let shardCount: Int
    /// Whether the broker knows all sessions of an earlier run.
    var isComplete: Bool
    var random: SeededRandom
    var fault: SessionFault?
    var trace: Trace
    private let emptySizes: TableSizes
    var startedAt: Int
    let sessionsMax: Int
    /// Whether the broker is stopped and killed: what cache channels hold is lost with it.
    private let hasRestarts: Bool

    private(set) var step = 0
    var devices: [Device] = []
    /// Connections that their devices have given up, with the time at which the network lets go of each.
    var abandoned: [(connection: DeviceConnection, until: Int)] = []
    var events: [SessionEvent] = []
    /// The number of each event.
    var serials: [Int: UInt64] = [:]
    /// The number of events at the last settlement.
    var settledCount = 0
    /// The number of events at the last start, of which a cache channel holds none.
    var uncachedCount = 0
    /// The number of messages that were processed.
    var processedCount = 0
    /// The requests in progress, with the IDs of their events.
    var exchanges: [(exchange: Exchange, events: [Int])] = []
    var lastConnection = 0
    var tokenCount = 0
    var lastDevice = 0
    var situations: [Situation: Int] = [:]

    var variant: SessionVariant? { fault?.variant }
    /// Whether a home may have had more sessions than its share of the limit.
    var hasEvicted: Bool { tokenCount > sessionsMax / shardCount }

    init(seed: UInt64, _ variant: SessionVariant?, trace: Trace) throws {
        random = SeededRandom(seed: seed)
        fault = variant.map(SessionFault.init)
        self.trace = trace
        let environment = World.Environment(seed: seed)
        self.environment = environment
        shardCount = [1, 2, 3, 3][random.number(4)]
        isComplete = random.happens(70)
        hasRestarts = !seed.isMultiple(of: 3) && variant != .owedOpeningForgotten
        sessionsMax = random.happens(80) ? 1_000 : 2 * shardCount
        (archive, broker) = try Self.start(
            sessionsMax: sessionsMax + (variant == .oneSessionMore ? shardCount : 0),
            disk,
            shardCount,
            environment,
            variant
        )
        if isComplete { broker.knowsAllSessions() }
        emptySizes = broker.tableSizes()
        startedAt = environment.milliseconds
    }

    func breakCycles() {}

    // MARK: - Run

    func play() throws {
        for _ in 0..<2 + random.number(3) { try addDevice() }
        for _ in 0..<150 + random.number(250) {
            step += 1
            try performStep()
        }
        try settle()
        try end()
    }

    private enum StepKind {
        case connect, subscribe, unsubscribe, publish, transfer, process, block, cut, kill, close
        case abort, overlap, reload, twin, stall, flood, answerAndClose, catchUpSlowly
        case turn, deliver, round, wait, advance, absence, settle
        case brokerStop, brokerKill
    }

    private static let weights: [(weight: Int, thing: StepKind)] = [
        (10, .connect), (14, .subscribe), (2, .unsubscribe), (24, .publish), (8, .transfer),
        (6, .process), (5, .block), (5, .abort), (4, .cut), (4, .kill), (4, .close), (3, .overlap),
        (2, .reload), (2, .stall), (1, .flood), (2, .answerAndClose),
        (1, .catchUpSlowly), (1, .twin), (8, .turn), (8, .deliver), (16, .round), (16, .wait),
        (3, .advance),
        (1, .absence), (3, .settle), (1, .brokerStop), (1, .brokerKill),
    ]

    private func performStep() throws {
        let device = devices[random.number(devices.count)]
        let kind = random.pick(Self.weights)
        trace.record { "\(step) \(kind) \(device.name) \(device.kind) at \(now)" }
        switch kind {
        case .connect: try connect(device)
        case .subscribe: subscribe(device, random.number(SessionScenario.channels.count))
        case .unsubscribe: unsubscribe(device, random.number(SessionScenario.channels.count))
        case .publish: try publish()
        case .transfer: _ = try transfer(device, 1 + random.number(300))
        case .process: _ = try process(device, 1 + random.number(3))
        case .block: device.connection?.isBlocked = device.kind == .page
        case .cut: lose(device, .reset)
        case .kill: lose(device, .silence)
        case .abort: try abort(device)
        case .close: lose(device, .close)
        case .overlap: try overlap(device)
        case .reload: try reload(device)
        case .twin: try addTwin(of: device)
        case .stall: device.connection?.isStalled = true
        case .flood: try flood(device)
        case .answerAndClose: try answerAndClose(device)
        case .catchUpSlowly: try catchUpSlowly(device)
        case .turn: broker.turn(random.number(shardCount))
        case .deliver:
            deliver(1 + random.number(3), random.number(shardCount), random.number(shardCount))
        case .round: try runRound()
        case .wait: wait(random.pick([(3, random.number(100)), (2, 200 + random.number(1_500))]))
        case .advance: try advance(1 + random.number(14))
        case .absence: try advance(10 + random.number(70))
        case .settle: try settle()
        case .brokerStop: if hasRestarts { try stop() }
        case .brokerKill: if hasRestarts { try kill() }
        }
    }

    // MARK: - End

    private func end() throws {
        for device in devices { lose(device, random.happens(50) ? .close : .reset) }
        // Until sessions, and what is remembered of forgotten ones, have expired, and the numbers of vacant channels.
        for _ in 0..<40 {
            wait((SessionScenario.sessionAge + SessionScenario.clockTolerance / 1_000) * 100)
            try runRound()
        }
        wait(Scenario.positionAge * 1_000)
        for _ in 0..<4 {
            wait(16_000)
            try runRound()
        }
        if let (table, count) = broker.tableSizes().growth(since: emptySizes).first {
            throw Violation(
                .memory,
                "\(count) of \(table) are left; there are \(broker.tableSizes())"
            )
        }
    }
}
