import FanfareClient
import PusherProtocol
import TestRandom

/// The broker, real clients whose apps hold several leases of a channel, and a backend, with a simulated clock.
final class LeaseWorld: SimulatedWorld, @unchecked Sendable {
    // SAFETY: a simulation has one thread.
    typealias Position = FanfareClient.ChannelPosition

    var broker: SimulatedBroker
    let environment: World.Environment
    let shardCount: Int
    let executor = LeaseExecutor()
    let clock: LeaseClock
    let variant: LeaseVariant?
    /// Whether apps read when the schedule says so alone, with small buffers.
    let isSlow: Bool
    var random: SeededRandom
    var trace: Trace

    var devices: [LeaseDevice] = []
    var events: [LeaseEvent] = []
    /// The event at each position, and the last position of each channel.
    private var numbers: [[Position: Int]] = LeaseScenario.channels.map { _ in [:] }
    private(set) var heads: [Position?] = LeaseScenario.channels.map { _ in nil }
    var exchanges: [(exchange: Exchange, event: Int)] = []
    /// The connections of which the broker does not learn yet that they have ended.
    var abandoned: [(pipe: Pipe, until: Int)] = []
    /// The states that apps are loading.
    var loads: [CheckedContinuation<Void, Never>] = []
    var lastConnection = 0
    var lastLease = 0
    private(set) var step = 0
    private(set) var violation: Violation?
    var situations: [Situation: Int] = [:]

    init(seed: UInt64, _ variant: LeaseVariant?, trace: Trace) throws {
        random = SeededRandom(seed: seed)
        self.variant = variant
        self.trace = trace
        environment = World.Environment(seed: seed)
        clock = LeaseClock(environment)
        shardCount = [1, 2, 3][random.number(3)]
        isSlow = random.happens(20)
        broker = try Self.start(shardCount, environment)
    }

    static func start(_ shardCount: Int, _ environment: World.Environment) throws
        -> SimulatedBroker
    {
        try SimulatedBroker(
            LeaseScenario.configuration(),
            clocks: Array(repeating: environment.clock(), count: shardCount),
            random: { environment.random.next() }
        )
    }

    /// Records what a reader finds; the run ends with the current step.
    func report(_ invariant: Invariant, _ text: String) {
        violation = violation ?? Violation(invariant, text)
    }

    func index(_ channel: String) throws(Violation) -> Int {
        guard let index = LeaseScenario.channels.firstIndex(of: channel) else {
            throw Violation(.audience, "there is no channel \(channel)")
        }
        return index
    }

    static func id(of data: String?) -> Int? { data.flatMap { Int($0) } }

    /// Records the position of an event.
    func record(_ id: Int, at position: Position) throws(Violation) {
        guard id < events.count else { throw Violation(.content, "there is no event \(id)") }
        let channel = events[id].channel
        if let other = numbers[channel][position], other != id {
            throw Violation(.serials, "events \(other) and \(id) are both at \(position)")
        }
        if let other = events[id].position, other != position {
            throw Violation(.serials, "event \(id) is at \(other) and at \(position)")
        }
        let isNewStream = !numbers[channel].keys.contains { $0.stream == position.stream }
        numbers[channel][position] = id
        events[id].position = position
        let head = heads[channel]
        if isNewStream || head?.stream == position.stream && head?.serial ?? 0 < position.serial {
            heads[channel] = position
        }
    }

    /// A stream that the channel has had.
    func formerStream(of channel: Int) -> String? {
        let streams = Set(numbers[channel].keys.map(\.stream)).sorted()
        return streams.isEmpty ? nil : streams[random.number(streams.count)]
    }

    // MARK: - Run

    func play() throws {
        for _ in 0..<LeaseScenario.deviceCount { addDevice() }
        for _ in 0..<80 + random.number(120) {
            step += 1
            try performStep()
            try checkReports()
        }
        try settle()
    }

    func checkReports() throws {
        if let violation { throw violation }
    }

    private enum StepKind {
        case begin, end, read, own, publish, burst, connect, suspend, disconnect, offline, cut
        case silence, transfer, turn, deliver, run, round, wait, advance, absence, settle
        case brokerStop, brokerKill
    }

    private static let weights: [(weight: Int, thing: StepKind)] = [
        (18, .begin), (12, .end), (4, .read), (4, .own), (24, .publish), (2, .burst),
        (8, .connect), (3, .suspend), (2, .disconnect), (3, .offline), (6, .cut), (2, .silence),
        (10, .transfer), (8, .turn), (8, .deliver), (8, .run), (20, .round), (14, .wait),
        (3, .advance), (1, .absence), (3, .settle), (1, .brokerStop), (1, .brokerKill),
    ]

    private func performStep() throws {
        let device = devices[random.number(devices.count)]
        let channel = random.number(LeaseScenario.channels.count)
        let kind = random.pick(Self.weights)
        trace.record { "\(step) \(kind) \(device.name) \(channel) at \(now)" }
        switch kind {
        case .begin: beginLease(device, channel)
        case .end: endLease(device, channel)
        case .read: readAgain(device, channel)
        case .own: toggleOwn(device, channel)
        case .publish: try publish(on: channel)
        case .burst:
            for _ in 0..<LeaseScenario.burstCount { try publish(on: channel) }
        case .connect: device.client.connect()
        case .suspend: device.client.suspend()
        case .disconnect: device.client.disconnect()
        case .offline: device.isOnline.toggle()
        case .cut: device.connection?.cut()
        case .silence: device.connection?.isDead = true
        case .transfer: _ = try transfer(device, 1 + random.number(300))
        case .turn: broker.turn(random.number(shardCount))
        case .deliver:
            broker.deliver(
                1 + random.number(3),
                from: random.number(shardCount),
                to: random.number(shardCount)
            )
        case .run: executor.run(1 + random.number(6))
        case .round: _ = try runRound()
        case .wait: wait(random.pick([(3, random.number(100)), (2, 200 + random.number(1_500))]))
        case .advance: try advance(1 + random.number(14))
        case .absence: try advance(10 + random.number(70))
        case .settle: try settle()
        case .brokerStop: try restart(keepsStreams: true)
        case .brokerKill: try restart(keepsStreams: false)
        }
    }
}
