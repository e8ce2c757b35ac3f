import TestRandom

extension Schedule {
    /// Generates a run.
    package init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        self.seed = seed
        shardCount = [1, 2, 3, 3, 4][random.number(5)]
        ending = random.pick([(2, .leave), (1, .drain), (1, .drainWhileBusy)])
        lineLengthMax = random.number(3) == 0 ? 1 : 1_000
        // Some runs have few clients and channels that interact all the time, others many.
        var choice = StepChoice(
            random: random,
            shardCount: shardCount,
            clientCount: 3 + random.number(Scenario.clientCount - 2),
            channels: Self.channels(&random)
        )
        steps = []
        for _ in 0..<choice.clientCount + 2 { steps.append(choice.connect()) }
        for _ in 0..<80 + random.number(280) { steps.append(choice.next()) }
        if choice.channels.contains(Scenario.openingChannel), choice.random.happens(60) {
            let place = choice.random.number(steps.count)
            steps.insert(contentsOf: choice.lateJoin(), at: place)
        }
        if choice.random.happens(50) {
            let place = choice.random.number(steps.count)
            steps.insert(contentsOf: choice.comeBack(), at: place)
        }
        // Some runs publish more at once than the broker reads at once, which takes as long as all the rest.
        if choice.random.happens(15) {
            for _ in 0..<1 + choice.random.number(2) {
                steps.insert(choice.flood(), at: choice.random.number(steps.count))
            }
        }
    }
}

extension Schedule {
    /// Draws the channels of a run: often of one kind, for a thorough test of that.
    private static func channels(_ random: inout SeededRandom) -> [Int] {
        let all = Scenario.channels.indices
        switch random.number(6) {
        case 0, 4:
            return all.filter { Scenario.channels[$0].isPresence }.dropFirst(random.number(3)) + [
                random.number(all.count)
            ]
        // Clients come late to what was published before, and come back.
        case 5: return [Scenario.openingChannel]
        case 1: return [random.number(all.count)]
        case 2: return (0..<3).map { _ in random.number(all.count) }
        // Of the server-to-user channels, only one: few clients can subscribe to them.
        default: return Array(all.prefix(Scenario.firstUserChannel)) + [all.upperBound - 1]
        }
    }
}

extension SeededRandom {
    /// A number from zero to less than `bound`.
    mutating func number(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// True with a probability of `percent` / 100.
    mutating func happens(_ percent: Int) -> Bool { number(100) < percent }

    /// Draws an element, with a probability proportional to its weight.
    mutating func pick<Thing>(_ things: [(weight: Int, thing: Thing)]) -> Thing {
        var rest = number(things.reduce(0) { $0 + $1.weight })
        for (weight, thing) in things {
            if rest < weight { return thing }
            rest -= weight
        }
        preconditionFailure("a weight is negative")
    }
}

/// Generates the steps of one run.
struct StepChoice {
    var random: SeededRandom
    let shardCount: Int
    let clientCount: Int
    let channels: [Int]

    private enum StepKind {
        case connect, send, push, read, stall, mute, leave, request, transfer, turn, deliver, round,
            wait,
            advance
        case reload, settle
    }

    private static let weights: [(weight: Int, thing: StepKind)] = [
        (6, .connect), (30, .send), (6, .push), (10, .read), (1, .stall), (1, .mute), (2, .leave),
        (16, .request), (5, .transfer), (9, .turn), (8, .deliver), (9, .round), (4, .wait),
        (1, .advance),
        (1, .reload), (3, .settle),
    ]

    mutating func next() -> Step {
        switch random.pick(Self.weights) {
        case .connect: connect()
        case .send: .send(client(), action(), pushing: portion())
        case .push: .push(client(), portion())
        case .read: .read(client(), portion())
        case .stall: .stall(client())
        case .mute: .mute(client())
        case .leave: .leave(client(), isReset: random.happens(50))
        case .request: .request(request(), shard: shard(), pushing: portion())
        case .transfer: .transfer(portion())
        case .turn: .turn(shard())
        case .deliver: .deliver(1 + random.number(4), from: shard(), to: shard())
        case .round: .round
        case .wait: .wait(random.pick([(3, random.number(20)), (1, random.number(500))]))
        case .advance:
            .advance(random.pick([(3, 1 + random.number(5)), (1, 10 + random.number(60))]))
        case .reload: .reload(reload())
        case .settle: .settle
        }
    }

    mutating func connect() -> Step {
        .connect(
            client(),
            shard: shard(),
            app: random.happens(85) ? 0 : 1,
            compresses: random.happens(30),
            bufferSize: random.pick([(2, 200_000), (1, 4_608)])
        )
    }

    mutating func flood() -> Step {
        let length = 6_000 + random.number(3_000)
        return .flood(
            app: 0,
            channel: channel(),
            count: Scenario.floodLength / length + random.number(20),
            length: length
        )
    }

    /// A client comes to a channel that opens with what was published before.
    mutating func lateJoin() -> [Step] {
        let (client, shard) = (client(), shard())
        let request = Request.trigger(
            app: 0,
            channels: [Scenario.openingChannel],
            length: 10,
            excluded: nil,
            isSigned: true
        )
        let subscription = ClientAction.subscribe(
            Scenario.openingChannel,
            .right,
            user: nil,
            tracks: false
        )
        return (0..<Scenario.openingCount + random.number(2))
            .map { _ in .request(request, shard: shard, pushing: .max) } + [
                .settle, .leave(client, isReset: false), .settle,
                .connect(client, shard: shard, app: 0, compresses: false, bufferSize: 200_000),
                .round, .round, .send(client, subscription, pushing: .max), .round, .settle,
            ]
    }

    /// A device that tracks a channel is cut off, misses some events or too many, and comes back.
    mutating func comeBack() -> [Step] {
        let (client, channel, home) = (client(), channel(), shard())
        let subscription = ClientAction.subscribe(channel, .right, user: 0, tracks: true)
        let join: [Step] = [
            .leave(client, isReset: true), .settle,
            .connect(client, shard: home, app: 0, compresses: false, bufferSize: 200_000),
            .round, .round, .send(client, subscription, pushing: .max),
        ]
        let missed = random.pick([
            (3, random.number(6)), (1, 10 + random.number(2)), (1, Scenario.messagesMax + 2),
        ])
        let request = Step.request(
            .trigger(app: 0, channels: [channel], length: 10, excluded: nil, isSigned: true),
            shard: shard(),
            pushing: .max
        )
        let publishes = Array(repeating: request, count: missed)
        return join + [.settle, .leave(client, isReset: true), .settle] + publishes
            + [.settle] + join + publishes.prefix(2) + [.round, .settle]
    }

    private mutating func client() -> Int { random.number(clientCount) }
    private mutating func shard() -> Int { random.number(shardCount) }
    private mutating func user() -> Int { random.number(Scenario.users.count) }

    private mutating func channel() -> Int { channels[random.number(channels.count)] }

    /// A number of bytes: mostly all, sometimes so few that messages are fragmented.
    private mutating func portion() -> Int {
        random.pick([(6, 100_000), (1, 1 + random.number(40)), (1, 1 + random.number(400))])
    }

    private mutating func length() -> Int {
        random.pick([
            (6, random.number(20)), (2, random.number(400)), (2, 1_000 + random.number(2_000)),
        ])
    }

    private mutating func signature() -> ClientAction.Signature {
        random.pick([
            (28, .right), (1, .none), (1, .wrong), (1, .ofAnotherSocket), (1, .foreign),
            (1, .second),
        ])
    }

    private enum ActionKind {
        case subscribe, subscribeBriefly, invalidName, unsubscribe, signIn, event, burst, flood,
            ping, frame
        case malformed, close
    }

    private mutating func action() -> ClientAction {
        let kinds: [(weight: Int, thing: ActionKind)] = [
            (40, .subscribe), (6, .subscribeBriefly), (1, .invalidName), (14, .unsubscribe),
            (12, .signIn),
            (22, .event),
            (3, .ping), (2, .frame), (3, .malformed), (1, .close),
            (2, .burst), (1, .flood),
        ]
        switch random.pick(kinds) {
        case .subscribe:
            return .subscribe(
                channel(),
                signature(),
                user: random.happens(85) ? user() : nil,
                tracks: random.happens(60)
            )
        case .subscribeBriefly:
            return .subscribeBriefly(
                channel(),
                user: user(),
                stays: random.happens(50),
                tracks: random.happens(50)
            )
        case .invalidName: return .subscribeToInvalidName
        case .unsubscribe: return .unsubscribe(channel())
        case .signIn:
            let watching = (0..<random.number(4)).map { _ in user() }
            return .signIn(user(), watching: watching, signature())
        case .event: return .event(channel(), length: length())
        case .burst: return .burst(channel())
        case .flood: return .flood
        case .ping: return .ping
        case .frame: return .pingFrame
        case .malformed:
            return .malformed(
                random.pick([
                    (6, .noJSON), (6, .unknownEvent), (6, .noEvent), (4, .binary),
                    (2, .invalidText),
                    (2, .unmasked), (2, .reserved), (2, .tooLong),
                ])
            )
        case .close: return .close
        }
    }

    private enum RequestKind { case trigger, batch, terminate, list, describe, members, purge }

    private mutating func request() -> Request {
        let app = random.happens(90) ? 0 : 1
        let kinds: [(weight: Int, thing: RequestKind)] = [
            (24, .trigger), (6, .batch), (3, .terminate), (2, .list), (2, .describe), (2, .members),
            (4, .purge),
        ]
        switch random.pick(kinds) {
        case .trigger:
            var channels = [channel()]
            if random.happens(25) { channels += (0..<random.number(3)).map { _ in channel() } }
            return .trigger(
                app: app,
                channels: channels,
                length: length(),
                excluded: random.happens(20) ? client() : nil,
                isSigned: random.happens(95)
            )
        case .batch:
            let channels = (0..<1 + random.number(5)).map { _ in channel() }
            return .batch(app: app, channels: channels, length: length())
        case .terminate: return .terminate(app: app, user: user())
        case .list: return .list(app: app)
        case .describe: return .describe(app: app, channel: channel())
        case .members: return .members(app: app, channel: channel())
        case .purge: return .purge(app: app, channel: channel())
        }
    }

    private mutating func reload() -> Reload {
        random.pick([
            (2, .subscriptionsMax(1 + random.number(6))), (1, .clientEvents(random.happens(50))),
            (1, .secondSecret(random.happens(50))), (1, .second(random.happens(50))),
        ])
    }
}
