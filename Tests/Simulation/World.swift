import FanfareServer
import Net
import TestRandom

/// A user of an app.
struct UserPlace: Hashable {
    var app: Int
    var user: Int
}

/// The broker, its clients and its backends, and the time in which they live.
final class World {
    /// The clocks' time and the numbers of socket IDs, for a broker that knows nothing else of the world.
    final class Nature {
        var milliseconds = 1_000_000
        var random: SeededRandom
        init(seed: UInt64) { random = SeededRandom(seed: seed) }
    }

    let schedule: Schedule
    let variant: Variant?
    let broker: SimulatedBroker
    let nature: Nature
    /// What a deliberate fault hits.
    var mishaps: SeededRandom
    var trace: Trace
    private let emptyCensus: TableSizes

    /// The number of the step.
    private(set) var step = 0
    var rules = Cast.rules
    /// Whether an app has been switched off since the last settlement.
    var hasClosedApps = false
    private(set) var isDraining = false

    /// The clients, by place.
    var clients: [Conversation?]
    /// All that have been there since the last settlement.
    var everyone: [Conversation] = []
    var exchanges: [Exchange] = []
    var rooms: [Int: Room] = [:]
    var publications: [Int: Publication] = [:]
    /// Users whom a backend has ordered to be closed since the last settlement.
    var openTerminations: Set<UserPlace> = []
    /// The last event that a backend was told is accepted, by room: whatever is published from then on comes later.
    var lastAccepted: [Int: Publication] = [:]
    /// Whether backends publish more at once than the broker takes in at once; every client that may read does.
    var isFlooding = false
    /// How often each thing has happened that runs are to meet.
    private(set) var meetings: [Meeting: Int] = [:]
    private var lastConversation = 0
    private var lastMark = 0

    init(_ schedule: Schedule, _ variant: Variant?, trace: Trace) throws(SystemError) {
        self.schedule = schedule
        self.variant = variant
        self.trace = trace
        let nature = Nature(seed: schedule.seed)
        self.nature = nature
        mishaps = SeededRandom(seed: ~schedule.seed)
        clients = Array(repeating: nil, count: Cast.clientCount)
        let start = nature.milliseconds
        let clocks = (0..<schedule.shardCount).map { shard in
            let stands = variant == .stoppedClock && shard == 0
            return LoopClock(
                now: {
                    MonotonicTime(
                        nanoseconds: Int64(stands ? start : nature.milliseconds) * 1_000_000
                    )
                },
                unixTime: { Self.epoch + Int64(nature.milliseconds / 1_000) }
            )
        }
        var configuration = Cast.configuration(Cast.rules, variant)
        configuration.relayedEventsMax = schedule.lineLengthMax
        broker = try SimulatedBroker(
            configuration,
            clocks: clocks,
            random: { nature.random.next() },
            batchLengthMax: variant == .unboundedFanOut ? .max : nil
        )
        emptyCensus = broker.tableSizes()
    }

    /// Parts all who refer to each other, and would for ever.
    func dissolve() {
        for client in everyone { client.forget() }
        for room in rooms.values { room.clear() }
        exchanges = []
        rooms = [:]
        publications = [:]
        lastAccepted = [:]
    }

    private static var epoch: Int64 { 1_700_000_000 }

    /// The time in milliseconds.
    var now: Int { nature.milliseconds }

    /// Seconds since 1970.
    var unixTime: Int64 { Self.epoch + Int64(now / 1_000) }

    /// The key of a room.
    func key(_ app: Int, _ channel: Int) -> Int { app * Cast.channels.count + channel }

    func room(_ app: Int, _ channel: Int) -> Room {
        let key = key(app, channel)
        if let room = rooms[key] { return room }
        let room = Room(app: app, channel: Cast.channels[channel])
        rooms[key] = room
        return room
    }

    /// A number for what is told of a member.
    func makeMark() -> Int {
        lastMark += 1
        return lastMark
    }

    /// Notes that an event is being published.
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
            let room = room(app, channel)
            if let earlier = lastAccepted[key(app, channel)] {
                room.pairs.append((earlier.id, publication.id))
            }
            room.open.append(publication)
            for tenure in room.tenures where !tenure.isOver {
                tenure.conversation.owedBytes += length + 200
            }
        }
        return publication
    }

    /// Notes that something has happened that runs are to meet.
    func meet(_ meeting: Meeting) { meetings[meeting, default: 0] += 1 }

    // MARK: - The run

    /// Plays all steps, and the end that every run has.
    func play() throws {
        for step in schedule.steps {
            self.step += 1
            trace.note { "\(self.step) \(step)" }
            try perform(step)
        }
        step += 1
        try end()
    }

    private func perform(_ step: Step) throws {
        switch step {
        case .connect(let place, let shard, let app, let compresses, let room):
            try connect(place, shard, app, compresses, room)
        case .say(let place, let utterance, let count):
            guard let client = clients[place] else { return }
            client.say(utterance)
            push(client, count)
        case .push(let place, let count): if let client = clients[place] { push(client, count) }
        case .read(let place, let count): if let client = clients[place] { try read(client, count) }
        case .stall(let place):
            clients[place]?.isStalled = true
            clients[place]?.wasStalled = true
        case .mute(let place): clients[place]?.isMute = true
        case .leave(let place, let isReset): clients[place]?.leave(isReset: isReset)
        case .ask(let request, let shard, let count):
            try ask(request, shard: shard).pursue(count)
        case .pursue(let count): for exchange in exchanges { _ = try pursue(exchange, count) }
        case .turn(let shard): turn(shard)
        case .carry(let count, let speaker, let hearer): carry(count, speaker, hearer)
        case .bustle: try bustle()
        case .flood(let app, let channel, let count, let length):
            try flood(app, channel, count, length)
        case .wait(let milliseconds): nature.milliseconds += milliseconds
        case .pass(let seconds): try pass(seconds)
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
        _ room: Int
    ) throws {
        guard clients[place]?.isGone != false else { return }
        let (pipe, end) = try Pipe.make(room: room)
        try broker.accept(FileDescriptor(end, from: "socketpair"), on: shard)
        lastConversation += 1
        let client = Conversation(
            number: lastConversation,
            place: place,
            app: app,
            shard: shard,
            client: try SimulatedClient(
                pipe,
                key: Cast.keys[app],
                compresses: compresses,
                number: lastConversation
            ),
            world: self
        )
        client.takesMuch = room >= 200_000
        clients[place] = client
        everyone.append(client)
        push(client, .max)
    }

    // MARK: - The end

    /// Sends everybody away, and looks for what is left of them.
    private func end() throws {
        if schedule.ending != .drainWhileBusy {
            try settle()
            // A silent client may be given up meanwhile: its user is there for another moment.
            var count = 0
            repeat {
                count = clients.count { $0?.isGone == false }
                try pass(5)
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
            throw left.broken(.closing, "is still there after everybody was sent away")
        }
        try pass(100)
        if let (table, count) = broker.tableSizes().growth(since: emptyCensus).first {
            let sizes = broker.tableSizes()
            throw Violation(.memory, "\(count) of \(table) are left; there are \(sizes)")
        }
    }

    private func reload(_ reload: Reload) {
        switch reload {
        case .subscriptionsMax(let limit): rules[0].subscriptionsMax = limit
        case .clientEvents(let areOn): rules[0].clientEvents = areOn
        case .secondSecret(let counts): rules[0].furtherSecrets = counts ? [Cast.secondSecret] : []
        case .second(let isServed):
            if rules[1].isEnabled, !isServed { hasClosedApps = true }
            rules[1].isEnabled = isServed
        }
        broker.reload(Cast.apps(rules, variant))
        for shard in 0..<schedule.shardCount { broker.adopt(on: shard) }
    }
}
