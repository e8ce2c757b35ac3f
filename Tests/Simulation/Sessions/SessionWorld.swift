import FanfareServer
import Net
import TestRandom

/// The broker, stock clients with session tokens, and a backend, with a simulated clock.
final class SessionWorld {
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
    private var exchanges: [(exchange: Exchange, event: Int)] = []
    private var lastConnection = 0
    private var tokenCount = 0
    private var lastDevice = 0
    private(set) var situations: [Situation: Int] = [:]

    var now: Int { environment.milliseconds }
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
            sessionsMax: sessionsMax,
            disk,
            shardCount,
            environment
        )
        if isComplete { broker.knowsAllSessions() }
        emptySizes = broker.tableSizes()
        startedAt = environment.milliseconds
    }

    func reach(_ situation: Situation) { situations[situation, default: 0] += 1 }

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
        case abort, overlap, reload, twin, turn, deliver, round, wait, advance, absence, settle
        case brokerStop, brokerKill
    }

    private static let weights: [(weight: Int, thing: StepKind)] = [
        (10, .connect), (14, .subscribe), (2, .unsubscribe), (24, .publish), (8, .transfer),
        (6, .process), (5, .block), (5, .abort), (4, .cut), (4, .kill), (4, .close), (3, .overlap),
        (1, .reload),
        (1, .twin), (8, .turn), (8, .deliver), (16, .round), (16, .wait), (3, .advance),
        (1, .absence), (3, .settle), (1, .brokerStop), (1, .brokerKill),
    ]

    private func performStep() throws {
        let device = devices[random.number(devices.count)]
        let kind = random.pick(Self.weights)
        trace.record { "\(step) \(kind) \(device.name)" }
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

    // MARK: - Devices

    private func addDevice(replacing former: Device? = nil) throws {
        lastDevice += 1
        let skew = random.pick([(4, 0), (2, random.number(240_000) - 120_000), (1, 200_000)])
        let device = Device(
            number: lastDevice,
            kind: random.happens(60) ? .page : .native,
            token: makeToken(skew),
            skew: skew,
            at: now
        )
        if let index = devices.firstIndex(where: { $0 === former }) {
            devices[index] = device
        } else {
            devices.append(device)
        }
        // A client of before the broker's start, which has missed what was published meanwhile.
        guard !isComplete, step == 0, random.happens(50) else { return }
        device.books[0] = Device.Book(beganAt: -1, certainAt: startedAt - 1)
        let event = SessionEvent(
            id: events.count,
            channel: 0,
            step: 0,
            time: startedAt - 1,
            excluded: nil,
            isAccepted: true
        )
        events.append(event)
    }

    private func makeToken(_ skew: Int) -> String {
        tokenCount += 1
        let part = String(random.next(), radix: 36)
        return String(now + skew, radix: 36) + "-" + part + "-0123456789abcdef"
    }

    /// The page is loaded anew: another token, and nothing is known.
    private func reload(_ device: Device) throws {
        guard !device.isTwin else { return }
        lose(device, .close)
        try addDevice(replacing: device)
    }

    /// A duplicated tab, which has the token of another device.
    private func addTwin(of device: Device) throws {
        guard devices.count < 6, !device.isTwin, device.books.isEmpty || random.happens(30) else {
            return
        }
        lastDevice += 1
        let twin = Device(
            number: lastDevice,
            kind: device.kind,
            token: device.token,
            skew: device.skew,
            at: now
        )
        (device.isTwin, twin.isTwin) = (true, true)
        devices.append(twin)
        reach(.twin)
    }

    // MARK: - Connections

    func connect(_ device: Device) throws {
        guard device.connection == nil else { return }
        // The broker's clock has nanoseconds: no connections are opened at once.
        wait(1)
        let (pipe, end) = try Pipe.make(bufferSize: random.happens(70) ? 200_000 : 4_608)
        try broker.accept(FileDescriptor(end, from: "socketpair"), on: random.number(shardCount))
        lastConnection += 1
        let transport = try SimulatedClient(
            pipe,
            key: Scenario.keys[0],
            token: device.token,
            compresses: random.happens(20),
            number: lastConnection
        )
        device.connection = DeviceConnection(transport, at: now)
        _ = transport.pipe.push(.max)
    }

    /// How a connection is lost.
    enum Loss {
        /// The device closes, and drops what waits.
        case close
        /// Both sides see a reset; what waits is processed.
        case reset
        /// Nothing gets through any more.
        case silence
    }

    func lose(_ device: Device, _ loss: Loss) {
        guard let connection = device.connection.take() else { return }
        if connection.mayBeUnknown != nil { device.contactAt = now }
        switch loss {
        case .close:
            connection.waiting = []
            connection.transport.pipe.close()
        case .reset:
            connection.transport.pipe.close()
        case .silence:
            connection.isDead = true
            abandon(connection, for: random.number(40_000))
        }
    }

    /// The page processes the first of what has arrived, and closes the connection.
    private func abort(_ device: Device) throws {
        guard let connection = device.connection else { return }
        connection.isBlocked = device.kind == .page
        _ = try transfer(device, .max)
        connection.isBlocked = false
        _ = try process(device, 1 + random.number(2))
        lose(device, .close)
    }

    /// The device opens another connection before it closes the present one.
    private func overlap(_ device: Device) throws {
        guard let former = device.connection.take() else { return }
        abandon(former, for: random.number(100))
        try connect(device)
        reach(.overlap)
    }

    private func abandon(_ connection: DeviceConnection, for time: Int) {
        connection.isAbandoned = true
        connection.waiting = []
        abandoned.append((connection, now + time))
    }

    func closeAllAbandoned() {
        for (connection, _) in abandoned { connection.transport.pipe.close() }
        abandoned = []
    }

    private func closeAbandoned() {
        abandoned.removeAll { connection, until in
            if now >= until { connection.transport.pipe.close() }
            return now >= until
        }
    }

    // MARK: - Backend

    private func publish() throws {
        let channel = random.number(SessionScenario.channels.count)
        let excluded =
            random.happens(25) ? devices[random.number(devices.count)].connection?.socketID : nil
        let event = SessionEvent(
            id: events.count,
            channel: channel,
            step: step,
            time: now,
            excluded: excluded
        )
        events.append(event)
        let except = excluded.map { #","socket_id":"\#($0)""# } ?? ""
        let name = SessionScenario.channels[channel]
        let padding = String(repeating: "x", count: random.number(200))
        let body =
            #"{"name":"event","channel":"\#(name)","data":"\#(event.id):\#(padding)"\#(except)}"#
        let text = signedRequest(
            "POST",
            "/apps/\(Scenario.appIDs[0])/events",
            body: body,
            app: 0,
            unixTime: Int64(now / 1_000)
        )
        let (pipe, end) = try Pipe.make(bufferSize: 200_000)
        let shard = random.number(shardCount)
        try broker.accept(FileDescriptor(end, from: "socketpair"), on: shard)
        let exchange = Exchange(pipe, text, shard: shard, outcome: .accepted)
        exchanges.append((exchange, event.id))
        _ = try exchange.transfer(.max, whileDraining: false)
    }

    /// Gives up what waits for an answer: nobody knows whether it is published.
    func dropExchanges() { exchanges = [] }

    private func transferExchanges() throws -> Int {
        var moved = 0
        for (exchange, event) in exchanges {
            moved += try exchange.transfer(.max, whileDraining: false)
            if exchange.isAnswered { events[event].isAccepted = exchange.status == 200 }
        }
        exchanges.removeAll { $0.exchange.isAnswered }
        return moved
    }

    // MARK: - Time and transport

    func wait(_ milliseconds: Int) {
        environment.milliseconds += milliseconds
        closeAbandoned()
        // A page that is busy from its first message on, for longer than the broker waits for its first answer, is
        // taken for a client that answers ping frames alone: that is not promised.
        for device in devices where variant != .confirmedByPongFrames {
            guard let connection = device.connection, connection.isBlocked else { continue }
            let since = connection.blockedAt ?? now
            connection.blockedAt = since
            if connection.answeredMark == 0, now - since >= 3_000 { connection.isBlocked = false }
        }
    }

    /// Lets time pass in steps that are short enough for the broker's timers.
    func advance(_ seconds: Int) throws {
        for _ in 0..<seconds * 2 {
            wait(500)
            try runRound()
        }
    }

    func deliver(_ limit: Int, _ sender: Int, _ receiver: Int) {
        guard sender != receiver else { return }
        broker.deliver(limit, from: sender, to: receiver) { messages in
            self.trace.record { "    \(sender) → \(receiver): \(messages.map(\.subject))" }
            let hasEvicted = self.hasEvicted
            return messages.compactMap { message in
                guard self.fault != nil else { return message }
                return self.fault?.tamper(message, hasEvicted: hasEvicted)
            }
        }
    }

    @discardableResult
    func runRound() throws -> Bool {
        var moved = try transferExchanges()
        for device in devices { moved += try transfer(device, .max) }
        for (connection, _) in abandoned { moved += transferAbandoned(connection) }
        for shard in 0..<shardCount { broker.turn(shard) }
        moved += archive.waitingCount
        archive.write(at: now)
        for sender in 0..<shardCount {
            for receiver in 0..<shardCount where sender != receiver {
                moved += broker.waitingCount(from: sender, to: receiver)
                deliver(.max, sender, receiver)
            }
        }
        for device in devices {
            moved += try transfer(device, .max)
            moved += try process(device, .max)
        }
        return moved > 0 || broker.hasWork
    }

    func runUntilIdle() throws {
        for _ in 0..<2_000 {
            let isMoving = try runRound()
            let isStillMoving = try runRound()
            if !isMoving, !isStillMoving { return }
        }
        throw Violation(.answers, "the broker does not become idle")
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

    /// Whether the broker may not know a device's session, or that a channel belongs to it.
    func mayBeUnknown(_ device: Device) -> Bool {
        let created = device.createdAt + device.skew
        let isOfBefore = !isComplete && created <= startedAt + SessionScenario.clockTolerance
        let isAhead = device.skew > SessionScenario.clockTolerance - 2_000
        let isOld =
            !device.isKnown && now - created >= (SessionScenario.sessionAge - 2) * 1_000
        let isForgotten =
            now - device.contactAt
            >= (SessionScenario.sessionAge - SessionScenario.expiryInterval) * 1_000
        return isOfBefore || isAhead || isOld || isForgotten || hasEvicted
            || now < device.unknownUntil
    }
}
