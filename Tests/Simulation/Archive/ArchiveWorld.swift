import Broker
import BrokerConfiguration
import PusherProtocol
import Shard
import TestRandom

/// A broker with stored channels that is killed, and whose machine loses its power, again and again.
///
/// Backends repeat events, some under keys; devices track the channels over all of their connections. The disk fails, or
/// does what it reports as failed. Each run is reproducible by its seed.
package final class ArchiveWorld {
    static let channels = ["stored-a", "stored-b", "stored-c"]
    static let epoch: Int64 = 1_700_000_000
    private static let unstoredBytesMax = 4_000

    private var random: SeededRandom
    private let variant: ArchiveVariant?
    let shardCount: Int
    private let isSynced: Bool
    private let disk: SimulatedDisk
    private(set) var archive: SimulatedArchive
    private(set) var broker: SimulatedBroker
    let environment = World.Environment(seed: 0)
    var model = ArchiveModel()
    var trackers: [StoredTracker] = []
    var requests: [StoredRequest] = []
    /// The IDs of the channels' streams as devices know them; they change behind a loss of power alone.
    var streams: [String: StreamID] = [:]
    /// Whether a device may find a gap at its next subscription.
    var mayHaveGap: Set<Int> = []
    /// Whether the archive has refused events in this run of the broker.
    private var hasRefused = false
    private var trace: [String] = []

    /// Creates the world of a seed.
    package init(seed: UInt64, _ variant: ArchiveVariant? = nil) throws {
        var random = SeededRandom(seed: seed)
        self.variant = variant
        shardCount = 1 + Int(random.next() % 3)
        isSynced = variant == .unsynced || variant != .oldID && random.next() % 3 == 0
        disk = SimulatedDisk(syncsAlways: isSynced, variant)
        (archive, broker) = try Self.start(disk, shardCount, environment, random.next(), variant)
        self.random = random
        for number in 0..<4 {
            trackers.append(StoredTracker(Self.channels[number % 3], number: number))
        }
    }

    /// Plays the run of a seed.
    ///
    /// - Parameters:
    ///   - seed: The seed.
    ///   - variant: The injected bug; `nil` for none.
    /// - Returns: The first violation; `nil` if there was none.
    /// - Throws: The system's error.
    package static func play(
        seed: UInt64,
        _ variant: ArchiveVariant? = nil
    ) throws -> Violation? {
        let world = try ArchiveWorld(seed: seed, variant)
        do {
            try world.play()
            return nil
        } catch var violation as Violation {
            violation.text += "\n  " + world.told(of: violation).joined(separator: "\n  ")
            return violation
        }
    }

    /// The end of the trace; of a violation about one event, what the trace tells of it.
    private func told(of violation: Violation) -> [String] {
        guard let match = violation.text.firstMatch(of: /event \d+/) else {
            return trace.suffix(40)
        }
        let name = String(match.0)
        let words = ["killed", "power", "disk", "shards"]
        return trace.filter { line in
            line.hasPrefix(name + " ") || words.contains { line.hasPrefix($0) }
        }
    }

    func record(_ text: String) { trace.append(text) }

    // MARK: - The broker

    private static func start(
        _ disk: SimulatedDisk,
        _ shardCount: Int,
        _ environment: World.Environment,
        _ seed: UInt64,
        _ variant: ArchiveVariant?
    ) throws -> (SimulatedArchive, SimulatedBroker) {
        var configuration = Configuration.development
        configuration.recovery.unstoredBytesMax = unstoredBytesMax
        var app = Scenario.app(0)
        var rule = RecoveryRuleConfiguration()
        rule.settings.channelPrefix = "stored-"
        rule.settings.store = .archive
        rule.settings.keep = .always
        app.recoveryRules = [rule]
        configuration.apps = [app]
        let archive = try SimulatedArchive(
            disk,
            shardCount: shardCount,
            variant
        )
        environment.random = SeededRandom(seed: seed)
        let broker = try SimulatedBroker(
            configuration,
            clocks: Array(repeating: environment.clock(since: epoch), count: shardCount),
            random: { environment.random.next() },
            archive: archive
        )
        archive.send = { [unowned broker] shard, reply in broker.send(reply, to: shard) }
        broker.restore(disk.contents())
        return (archive, broker)
    }

    /// Ends the broker's process in the midst of everything, and starts another.
    private func restart(losesPower: Bool) throws {
        record(losesPower ? "power is lost" : "killed")
        for tracker in trackers { tracker.cut() }
        for request in requests {
            request.event.isUnknown = true
            request.pipe.close()
        }
        requests = []
        // A subscription to a new channel does not wait for a disk that fails for long: its ID may not be in the file.
        if hasRefused {
            streams = [:]
            mayHaveGap = Set(trackers.map(\.number))
        }
        hasRefused = false
        if losesPower {
            _ = disk.losePower(&random)
            // With `sync: process` the end may be missing, and the IDs change.
            if !isSynced {
                streams = [:]
                mayHaveGap = Set(trackers.map(\.number))
                for event in model.events where !event.isDurable { event.mayBeLost = true }
            }
        }
        disk.condition = .works
        (archive, broker) = try Self.start(disk, shardCount, environment, random.next(), variant)
    }

    private func turn(_ shard: Int) {
        broker.turn(shard)
        guard variant == .answeredEarly else { return }
        for receiver in 0..<shardCount where receiver != shard {
            broker.acknowledgeEarly(from: shard, to: receiver)
        }
    }

    // MARK: - Steps

    func number(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

    private func play() throws {
        record("shards: \(shardCount), power: \(isSynced)")
        for _ in 0..<200 + number(200) { try step() }
        for _ in 0..<2 { try restart(losesPower: false) }
        try settle()
        try check()
    }

    private func step() throws {
        if archive.isFailing { hasRefused = true }
        switch number(100) {
        case 0..<30: try publish()
        case 30..<55: turn(number(shardCount))
        case 55..<65:
            let (sender, receiver) = (number(shardCount), number(shardCount))
            if sender != receiver { broker.deliver(1 + number(4), from: sender, to: receiver) }
        case 65..<77: archive.write(at: environment.milliseconds)
        case 77..<87: try move()
        case 87..<91: trackers[number(trackers.count)].cut()
        case 91..<93: environment.milliseconds += number(700)
        case 93..<96:
            disk.condition = [.works, .works, .full, .unclear, .silent][number(5)]
            record("disk \(disk.condition) at \(environment.milliseconds)")
        case 96:
            try settle()
            try checkBudgets()
        case 97..<99: try restart(losesPower: false)
        default: try restart(losesPower: true)
        }
    }

    private func publish() throws {
        let event: StoredEvent
        let repeatable = model.events.filter { $0.key != nil && ($0.isAnswered || $0.isUnknown) }
        if !repeatable.isEmpty, number(3) == 0 {
            event = repeatable[number(repeatable.count)]
        } else {
            let id = model.events.count + 1
            let tracker = trackers[number(trackers.count)]
            event = StoredEvent(
                id: id,
                channel: tracker.channel,
                key: number(2) == 0 ? "k\(id)" : nil,
                isDurable: number(4) == 0,
                condition: number(4) == 0 ? tracker.position : nil
            )
            model.events.append(event)
        }
        let shard = number(shardCount)
        let pipe = try broker.connect(to: shard)
        record("event \(event.id) on \(event.channel)")
        requests.append(
            StoredRequest(
                event,
                pipe,
                unixTime: Self.epoch + Int64(environment.milliseconds / 1_000)
            )
        )
        _ = requests[requests.count - 1].pipe.push(.max)
    }

    /// Transfers what sockets have.
    @discardableResult
    private func move() throws -> Bool {
        var hasMoved = false
        for request in requests {
            if request.pipe.push(.max) > 0 { hasMoved = true }
            guard let answer = try request.read() else { continue }
            hasMoved = true
            try receive(answer, request.event)
        }
        requests.removeAll { !$0.pipe.isOpen }
        for tracker in trackers {
            guard let transport = tracker.transport else { continue }
            if transport.pipe.push(.max) > 0 { hasMoved = true }
            let (count, frames) = try transport.read(.max)
            if count > 0 { hasMoved = true }
            for frame in frames { try receive(frame, tracker) }
            if transport.pipe.hasEnded { tracker.cut() }
        }
        return hasMoved
    }

    /// Runs everything until nothing moves, with a disk that works and all devices connected.
    func settle() throws {
        disk.condition = .works
        var idle = 0
        for _ in 0..<3_000 {
            for tracker in trackers where tracker.transport == nil { try connect(tracker) }
            var hasMoved = try move()
            for shard in 0..<shardCount { turn(shard) }
            for sender in 0..<shardCount {
                for receiver in 0..<shardCount
                where broker.deliver(.max, from: sender, to: receiver) > 0 { hasMoved = true }
            }
            if archive.waitingCount > 0 || archive.hasFailed { hasMoved = true }
            environment.milliseconds += 5
            archive.write(at: environment.milliseconds)
            idle = hasMoved ? 0 : idle + 1
            let isWaiting = !requests.isEmpty || trackers.contains { !$0.isSubscribed }
            if idle > 3, !isWaiting { return }
            if idle > 500 { break }
        }
        throw Violation(.answers, "the broker does not answer, or not everybody is subscribed")
    }
}
