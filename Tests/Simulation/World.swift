import BrokerConfiguration
import Net
import Shard
import TestRandom

/// A user of an app.
struct AppUser: Hashable {
    var app: Int
    var user: Int
}

/// The broker, its clients and its backends, with a simulated clock.
final class World: SimulatedWorld {
    /// The clock and the random numbers of the broker.
    final class Environment {
        var milliseconds = 1_000_000
        var random: SeededRandom
        init(seed: UInt64) { random = SeededRandom(seed: seed) }

        /// The clock of a shard, which began `epoch` seconds after 1970.
        func clock(since epoch: Int64 = 0, stoppedAt stop: Int? = nil) -> LoopClock {
            LoopClock(
                now: {
                    MonotonicTime(nanoseconds: Int64(stop ?? self.milliseconds) * 1_000_000)
                },
                unixTime: { epoch + Int64(self.milliseconds / 1_000) }
            )
        }
    }

    let schedule: Schedule
    let variant: Variant?
    let broker: SimulatedBroker
    let environment: Environment
    /// The random numbers of the injected bug.
    var faultRandom: SeededRandom
    var trace: Trace
    private let emptySizes: TableSizes

    /// The number of the current step.
    private(set) var step = 0
    var rules = Scenario.rules
    /// Whether an app was disabled since the last settlement.
    var hasClosedApps = false
    private(set) var isDraining = false

    /// The clients, by index.
    var clients: [ClientModel?]
    /// All clients since the last settlement.
    var allClients: [ClientModel] = []
    var exchanges: [Exchange] = []
    var models: [Int: ChannelModel] = [:]
    /// What each device tracks.
    var trackings: [Int: Tracking] = [:]
    var publications: [Int: Publication] = [:]
    /// Users whose connections a backend has terminated since the last settlement.
    var openTerminations: Set<AppUser> = []
    /// The last accepted backend event of each channel: later ones must follow it.
    var lastAccepted: [Int: Publication] = [:]
    /// Whether backends publish more at once than the broker reads at once, while all clients read.
    var isFlooding = false
    var situations: [Situation: Int] = [:]
    private var lastClient = 0
    private var lastMark = 0

    init(_ schedule: Schedule, _ variant: Variant?, trace: Trace) throws(SystemError) {
        self.schedule = schedule
        self.variant = variant
        self.trace = trace
        let environment = Environment(seed: schedule.seed)
        self.environment = environment
        faultRandom = SeededRandom(seed: ~schedule.seed)
        clients = Array(repeating: nil, count: Scenario.clientCount)
        let start = environment.milliseconds
        let clocks = (0..<schedule.shardCount).map { shard in
            let stands = variant == .stoppedClock && shard == 0
            return environment.clock(since: Self.epoch, stoppedAt: stands ? start : nil)
        }
        var configuration = Scenario.configuration(Scenario.rules, variant)
        configuration.relayedEventsMax = schedule.lineLengthMax
        broker = try SimulatedBroker(
            configuration,
            clocks: clocks,
            random: { environment.random.next() },
            batchLengthMax: variant == .unboundedFanOut ? .max : nil
        )
        emptySizes = broker.tableSizes()
    }

    func breakCycles() {
        for client in allClients { client.releaseReferences() }
        for model in models.values { model.clear() }
        exchanges = []
        models = [:]
        trackings = [:]
        publications = [:]
        lastAccepted = [:]
    }

    private static var epoch: Int64 { 1_700_000_000 }

    /// Seconds since 1970.
    var unixTime: Int64 { Self.epoch + Int64(now / 1_000) }

    /// The key of a channel's model.
    func key(_ app: Int, _ channel: Int) -> Int { app * Scenario.channels.count + channel }

    func model(_ app: Int, _ channel: Int) -> ChannelModel {
        let key = key(app, channel)
        if let model = models[key] { return model }
        let model = ChannelModel(app: app, channel: Scenario.channels[channel])
        models[key] = model
        return model
    }

    /// A unique number for the `user_info` of a member.
    func makeMark() -> Int {
        lastMark += 1
        return lastMark
    }

    /// Registers an event that is being published.
    func publish(app: Int, channels: [Int], name: String, length: Int) -> Publication {
        let publication = Publication(
            id: publications.count + 1,
            app: app,
            channels: channels,
            name: name,
            length: length,
            step: step,
            time: now
        )
        publications[publication.id] = publication
        for channel in channels {
            let model = model(app, channel)
            if let earlier = lastAccepted[key(app, channel)] {
                model.pairs.append((earlier.id, publication.id))
            }
            model.open.append(publication)
            model.published.append(publication)
            for subscription in model.subscriptions where !subscription.isOver {
                subscription.client.pendingBytes += length + 200
            }
        }
        return publication
    }

    // MARK: - Run

    func play() throws {
        for step in schedule.steps {
            self.step += 1
            trace.record { "\(self.step) \(step)" }
            try perform(step)
        }
        step += 1
        try end()
    }

    private func perform(_ step: Step) throws {
        switch step {
        case .connect(let place, let shard, let app, let compresses, let bufferSize):
            try connect(place, shard, app, compresses, bufferSize)
        case .send(let place, let action, let count):
            guard let client = clients[place] else { return }
            client.send(action)
            push(client, count)
        case .push(let place, let count): if let client = clients[place] { push(client, count) }
        case .read(let place, let count): if let client = clients[place] { try read(client, count) }
        case .stall(let place):
            clients[place]?.isStalled = true
            clients[place]?.wasStalled = true
        case .mute(let place): clients[place]?.isMute = true
        case .leave(let place, let isReset): clients[place]?.leave(isReset: isReset)
        case .request(let request, let shard, let count):
            try begin(request, shard: shard).transfer(count)
        case .transfer(let count): for exchange in exchanges { _ = try transfer(exchange, count) }
        case .turn(let shard): turn(shard)
        case .deliver(let count, let sender, let receiver): deliver(count, sender, receiver)
        case .round: try runRound()
        case .flood(let app, let channel, let count, let length):
            try flood(app, channel, count, length)
        case .wait(let milliseconds): environment.milliseconds += milliseconds
        case .advance(let seconds): try advance(seconds)
        case .reload(let reload):
            try settle()
            self.reload(reload)
        case .settle: try settle()
        }
    }

    private func connect(
        _ place: Int,
        _ shard: Int,
        _ app: Int,
        _ compresses: Bool,
        _ bufferSize: Int
    ) throws {
        guard clients[place]?.isGone != false else { return }
        let pipe = try broker.connect(bufferSize: bufferSize, to: shard)
        lastClient += 1
        let client = ClientModel(
            number: lastClient,
            place: place,
            app: app,
            shard: shard,
            transport: try SimulatedClient(
                pipe,
                key: Scenario.keys[app],
                compresses: compresses,
                number: lastClient
            ),
            world: self
        )
        client.hasLargeBuffer = bufferSize >= 200_000
        clients[place] = client
        allClients.append(client)
        push(client, .max)
    }

    // MARK: - End

    /// Disconnects all clients, and checks that no state is left.
    private func end() throws {
        if schedule.ending != .drainWhileBusy {
            try settle()
            // A silent client may be closed meanwhile: its user stays online for some time.
            var count = 0
            repeat {
                count = clients.count { $0?.isGone == false }
                try advance(5)
            } while clients.count { $0?.isGone == false } != count
            try settle(knowsUsers: true)
        }
        isDraining = schedule.ending != .leave
        for shard in 0..<schedule.shardCount where isDraining { broker.drain(shard, upTo: 1_000) }
        for client in clients where !isDraining {
            guard let client else { continue }
            client.leave(isReset: client.number % 2 == 0)
        }
        try settle()
        if let left = clients.compactMap(\.self).first(where: { !$0.isGone }) {
            throw left.broken(.closing, "is still connected after all clients were disconnected")
        }
        try advance(100)
        // The last numbers of channels without subscribers are kept for a day.
        wait(Scenario.positionAge * 1_000)
        try advance(20)
        if let (table, count) = broker.tableSizes().growth(since: emptySizes).first {
            let sizes = broker.tableSizes()
            throw Violation(.memory, "\(count) of \(table) are left; there are \(sizes)")
        }
    }

    private func reload(_ reload: Reload) {
        switch reload {
        case .subscriptionsMax(let limit): rules[0].subscriptionsMax = limit
        case .clientEvents(let areOn): rules[0].clientEvents = areOn
        case .secondSecret(let counts):
            rules[0].furtherSecrets = counts ? [Scenario.secondSecret] : []
        case .second(let isServed):
            if rules[1].isEnabled, !isServed { hasClosedApps = true }
            rules[1].isEnabled = isServed
        }
        broker.reload(Scenario.apps(rules, variant))
        for shard in 0..<schedule.shardCount { broker.applyReload(on: shard) }
    }
}
