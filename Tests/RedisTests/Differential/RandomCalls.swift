import RESP
import Redis
import RedisModel
import TestRandom

/// Random calls of the scripts on one partition, from a seed.
///
/// Few channels, users and nodes, so that calls meet each other's data. What only Redis knows, such as the ID of a stream, is
/// read from the model.
struct RandomCalls {
    /// A call, and the name of its script.
    typealias Call = ScriptCall

    static let nodes = ["a", "b", "c", "d"]
    static let apps = ["1", "2"]
    static let channelNames = ["x", "y-é", "presence-z"]
    static let users = ["u", "v:w", "two words", "é", "99"]
    static let tokens = ["s", "t", "tö", "u"]

    private var random: SeededRandom
    private let keys: PartitionKeys
    /// The keys of a partition that only has messages.
    private let neighbour: PartitionKeys
    private let scripts: ClusterScripts
    /// The digit of the server's process.
    private var run = 1
    /// The webhook that the timers have read last.
    private var lastWebhook: StreamPosition?

    init(seed: UInt64, partitions: [PartitionKeys], scripts: ClusterScripts) {
        random = SeededRandom(seed: seed)
        (keys, neighbour) = (partitions[0], partitions[1])
        self.scripts = scripts
    }

    /// The pub/sub channels that the scripts publish on.
    static func topics(_ keys: PartitionKeys) -> [String] {
        apps.flatMap { app in
            channelNames.map { keys.announcements(ClusterChannel(app: app, name: $0)).description }
                + users.map { keys.announcements(ClusterUser(app: app, id: $0)).description }
        } + nodes.map { keys.inbox(of: $0).description }
    }

    // MARK: Choices

    private mutating func number(_ range: Range<Int>) -> Int { .random(in: range, using: &random) }

    private mutating func isTrue(_ percent: Int) -> Bool { number(0..<100) < percent }

    private mutating func one<Element>(of choices: [Element]) -> Element {
        choices[number(0..<choices.count)]
    }

    private mutating func channel() -> ClusterChannel {
        ClusterChannel(app: one(of: Self.apps), name: one(of: Self.channelNames))
    }

    private mutating func user() -> ClusterUser {
        ClusterUser(app: one(of: Self.apps), id: one(of: Self.users))
    }

    private mutating func rules() -> ChannelRules {
        ChannelRules(
            isRecoverable: isTrue(50),
            announcesCount: isTrue(50),
            webhooks: ChannelRules.Webhooks(rawValue: UInt8(number(0..<16))),
            positionsMax: number(1..<4)
        )
    }

    private mutating func acknowledgement() -> Acknowledgement {
        one(of: [.primary, .replica, .all, .all])
    }

    /// How far the clock moves before the next call, in milliseconds: a second or more on average.
    ///
    /// Often to the millisecond in which something ends, or to one beside it.
    mutating func pause(_ data: Keyspace) -> Int64 {
        switch number(0..<1_250) {
        case 1_000...: pauseToAnEnd(data)
        case ..<500: 0
        case ..<800: Int64(number(1..<50))
        case ..<950: Int64(number(50..<2_000))
        case ..<990: Int64(number(1..<21)) * 1_000
        case ..<999: Int64(number(1..<131)) * 1_000
        default: Int64(number(1..<31)) * 3_600_000
        }
    }

    private mutating func pauseToAnEnd(_ data: Keyspace) -> Int64 {
        func scores(_ key: RedisKey) -> [Int64] {
            data[sorted: ByteString(key.description)].entries.map(\.score)
        }
        func time(_ key: RedisKey) -> Int64? {
            data[string: ByteString(key.description)].flatMap { $0.parts(2, by: " ").last?.integer }
        }
        let app = one(of: Self.apps)
        let channel = channel()
        var ends = scores(keys.due) + scores(keys.nodes).map { $0 + 10_000 }
        ends += scores(keys.sessionExpiries(app)) + scores(keys.cachedEventExpiries(app))
        ends += [time(keys.leader), time(keys.reaper(of: one(of: Self.nodes)))].compactMap(\.self)
        ends += [
            time(keys.countNotice(channel)).map { $0 + 5_000 },
            time(keys.cacheMiss(channel)).map { $0 + 60_000 },
            time(keys.termination(user())).map { $0 + 120_000 },
        ].compactMap(\.self)
        // Seldom far away, or little would be left to meet.
        let last = data.time + (isTrue(2) ? 600_000 : 11_000)
        ends = ends.filter { data.time + 1 < $0 && $0 < last }
        guard !ends.isEmpty else { return 0 }
        let end = one(of: ends)
        return end - data.time + Int64(number(-1..<2))
    }

    // MARK: Calls

    /// Makes the next call.
    ///
    /// - Parameter data: The model's data.
    /// - Returns: The call.
    mutating func next(_ data: Keyspace) -> Call {
        let calls = PartitionCalls(node: one(of: Self.nodes), keys: keys, scripts: scripts)
        switch number(0..<100) {
        case ..<8: return register(calls, data)
        case ..<17:
            return calls.heartbeat(lease: 10_000, acknowledgement(), mayLead: !isTrue(10))
        case ..<18:
            return calls.claimNumber(former: number(0..<4), lifetime: one(of: [60_000, 600_000]))
        case ..<22:
            return calls.condemn(one(of: Self.nodes), lease: one(of: [10_000, 10_000, 1]))
        case ..<24: return condemn(calls, data)
        case ..<40: return publish(data)
        case ..<42:
            return isTrue(30)
                ? calls.beginStream(of: channel(), rules())
                : calls.purge(channel(), begins: isTrue(50), rules())
        case ..<44: return calls.positions(of: (0..<number(0..<4)).map { _ in channel() })
        case ..<54: return attach(calls)
        case ..<60: return calls.detach(from: channel(), rules())
        case ..<67: return join(calls)
        case ..<72: return calls.leave(channel(), as: one(of: Self.users), rules())
        case ..<76: return reap(calls, data)
        case ..<81: return calls.setConnections(of: user(), to: number(0..<3))
        case ..<83: return calls.watch((0..<number(1..<4)).map { _ in user() })
        case ..<84: return calls.terminate(user())
        case ..<91: return session(calls, data)
        default: return leader(calls, data)
        }
    }

    /// Makes the next command that reads.
    mutating func nextRead(_ data: Keyspace) -> [String] {
        let channel = channel()
        let occupied = keys.occupied(channel.app).description
        let messages = keys.messages(channel).description
        let bound = newest(of: channel, data).map { "\($0)" } ?? "1-1"
        switch number(0..<9) {
        case 0:
            return [
                "ZRANGEBYLEX", occupied, one(of: ["-", "[x", "(x"]), one(of: ["+", "[y", "(y"]),
            ]
        case 1: return ["ZRANGEBYLEX", occupied, "(p", "+", "LIMIT", "0", "\(number(0..<3))"]
        case 2: return ["XRANGE", messages, one(of: ["-", "(\(bound)"]), "+", "COUNT", "2"]
        case 3: return ["XREVRANGE", messages, "+", "-", "COUNT", "\(number(1..<4))"]
        case 4:
            let stream = bound.prefix { $0 != "-" }
            return ["XRANGE", messages, "\(stream)-\(number(0..<3))", "\(stream)"]
        case 5: return ["HMGET", keys.subscriptions(channel).description] + Self.nodes
        case 6: return ["HLEN", keys.members(channel).description]
        case 7: return ["HGET", keys.cachedEvents(channel.app).description, channel.name]
        default: return ["ZRANGE", keys.nodes.description, "\(number(-3..<2))", "-1"]
        }
    }

    private mutating func register(_ calls: PartitionCalls, _ data: Keyspace) -> Call {
        let former = run
        if isTrue(4) { run = run % 9 + 1 }
        let server = ServerIdentity(
            run: ClusterStore.runID(Character("\(run)")),
            replication: "r\(isTrue(95) ? run : run + 1)",
            formerReplication: isTrue(70) ? "" : "r\(isTrue(70) ? former : 0)",
            startedAt: isTrue(50) ? 0 : data.time,
            configurationEpoch: isTrue(90) ? 1 : Int64(number(0..<3))
        )
        let known = isTrue(5) ? newest(of: channel(), data)?.stream ?? 0 : 0
        return calls.register(with: server, known: known, acknowledgement())
    }

    private func newest(of channel: ClusterChannel, _ data: Keyspace) -> EntryStream.ID? {
        data[stream: ByteString(keys.messages(channel).description)]?.lastID
    }

    private mutating func publish(_ data: Keyspace) -> Call {
        var parts = [part(of: keys, count: one(of: [1, 1, 2, 3, 8]), data)]
        if isTrue(20) {
            parts.insert(part(of: neighbour, count: number(1..<3), data), at: number(0..<2))
        }
        return scripts.publishing(parts, opens: isTrue(25))
    }

    private mutating func part(
        of keys: PartitionKeys,
        count: Int,
        _ data: Keyspace
    ) -> PartitionMessages {
        PartitionMessages(keys, (0..<count).map { _ in message(data) })
    }

    private mutating func message(_ data: Keyspace) -> ClusterMessage {
        let channel = channel()
        var stream = ClusterMessage.Stream.unknown
        switch (number(0..<10), newest(of: channel, data)) {
        case (0, _): stream = .none
        case (1, let newest?): stream = .id(UInt64(Int(newest.stream) + number(-2..<3)))
        case (2...7, let newest?): stream = .id(newest.stream)
        default: break
        }
        let key = one(of: ["k", "l", "m"])
        var expected: StreamPosition?
        if isTrue(15) {
            let newest = newest(of: channel, data)
            let serial = (newest?.serial ?? 0) &+ (isTrue(30) ? 1 : 0)
            expected = StreamPosition(stream: newest?.stream ?? 0, serial: serial)
        }
        return ClusterMessage(
            on: channel,
            in: stream,
            lengthMax: one(of: [2, 5, 100]),
            budgets: .init(
                appBytesMax: isTrue(50) ? number(0..<one(of: [400, 60_000])) : nil,
                bytesMax: isTrue(50) ? number(0..<one(of: [800, 90_000])) : nil,
                positionsMax: number(1..<4)
            ),
            entry: entry(data),
            idempotency: isTrue(15)
                ? .init(
                    key: key,
                    digest: one(of: ["d", "d", "e"]),
                    age: 60,
                    keysMax: number(1..<4)
                ) : nil,
            caching: isTrue(20) ? .init(lifetime: number(10..<100), eventsMax: number(1..<4)) : nil,
            webhook: isTrue(10) ? Array("{\"n\": \(number(0..<10))}".utf8) : nil,
            ifLastIs: expected
        )
    }

    private mutating func entry(_ data: Keyspace) -> [UInt8] {
        // Of a stream with one that is long, bytes count in steps.
        let length = isTrue(10) ? number(9_000..<18_000) : 0
        let time = data.time - Int64(number(0..<60_000))
        let text = "e - \(time) \(number(0..<1_000))"
        return Array(text.utf8) + Array(repeating: UInt8(ascii: "x"), count: length)
    }

    private mutating func attach(_ calls: PartitionCalls) -> Call {
        // Also the same channel twice.
        let channels = (0..<number(1..<4)).map { _ in
            PartitionCalls.Subscriptions(
                to: channel(),
                count: isTrue(50) ? number(1..<4) : number(60..<110),
                PartitionCalls.Interests(rawValue: UInt8(number(0..<8))),
                rules()
            )
        }
        return calls.attach(to: channels)
    }

    private mutating func join(_ calls: PartitionCalls) -> Call {
        calls.join(
            channel(),
            as: one(of: Self.users),
            info: Array("{\"i\": \(number(0..<10))}".utf8),
            membersMax: one(of: [1, 3, 100]),
            rules()
        )
    }

    /// The node that was condemned, if one has something left, or any.
    private mutating func ended(_ data: Keyspace) -> (node: String, items: [NodeItem]) {
        for node in Self.nodes.shuffled(using: &random) {
            let items = data[set: ByteString(keys.items(of: node).description)]
            guard !items.isEmpty, !items.contains(".") else { continue }
            return (node, items.sorted().compactMap { NodeItem($0.description) })
        }
        return (one(of: Self.nodes), [])
    }

    private mutating func condemn(_ calls: PartitionCalls, _ data: Keyspace) -> Call {
        // One without anything is forgotten.
        let known = data[sorted: ByteString(keys.nodes.description)].entries.map {
            $0.member.description
        }
        let empty = known.filter { data[set: ByteString(keys.items(of: $0).description)].isEmpty }
        let node = empty.isEmpty ? ended(data).node : one(of: empty)
        return calls.condemn(node, lease: 10_000)
    }

    private mutating func reap(_ calls: PartitionCalls, _ data: Keyspace) -> Call {
        let (node, items) = ended(data)
        guard isTrue(80), !items.isEmpty else {
            let other = one(of: Self.nodes)
            return isTrue(75)
                ? calls.reap(channel(), of: other, rules()) : calls.reap(user(), of: other)
        }
        switch one(of: items) {
        case .channel(let channel): return calls.reap(channel, of: node, rules())
        case .user(let user): return calls.reap(user, of: node)
        }
    }

    private mutating func session(_ calls: PartitionCalls, _ data: Keyspace) -> Call {
        let session = ClusterSession(app: one(of: Self.apps), token: one(of: Self.tokens))
        let socket = "1.\(number(0..<4))"
        if isTrue(50) {
            return calls.claim(
                session,
                for: .init(socketID: socket, openedAt: Int64(number(0..<3))),
                age: 600_000,
                sessionsMax: isTrue(90) ? 4 : number(1..<4),
                openFor: number(0..<1_000),
                takes: isTrue(10)
            )
        }
        let state = Array("state\n\(number(0..<100))".utf8)
        let byteCountMax = isTrue(80) ? 1 << 30 : number(0..<200)
        let digest = UInt32(number(0..<3))
        let parking = one(of: [ClusterSession.Parking.park, .park, .park, .checkpoint, .share])
        // Mostly by the owner.
        let sessions = data[hash: ByteString(keys.sessions(session.app).description)]
        let owner = sessions["\(session.app):\(session.token)"]?.parts(2, by: "\n")[0]
        let words = owner?.description.split(separator: " ") ?? []
        let isByOwner = isTrue(90) && words.count == 3
        let connection = ClusterSession.Connection(
            socketID: isByOwner ? String(words[1]) : socket,
            openedAt: isByOwner ? Int64(words[2]) ?? 0 : Int64(number(0..<3))
        )
        let node = isByOwner ? String(words[0]) : calls.node
        return PartitionCalls(node: node, keys: keys, scripts: scripts).park(
            session,
            of: connection,
            state,
            age: 600_000,
            parking,
            byteCountMax: byteCountMax,
            addressDigest: digest
        )
    }

    private mutating func leader(_ calls: PartitionCalls, _ data: Keyspace) -> Call {
        let queue = data[stream: ByteString(keys.webhooks.description)]?.entries ?? []
        func position(_ entry: EntryStream.Entry) -> StreamPosition {
            StreamPosition(stream: entry.id.stream, serial: entry.id.serial)
        }
        switch number(0..<9) {
        case ..<3:
            // Mostly by the leader.
            let leader = data[string: ByteString(keys.leader.description)]
            let node = leader.map { $0.parts(2, by: " ")[0].description }
            let timers = PartitionCalls(
                node: isTrue(90) ? node ?? calls.node : calls.node,
                keys: keys,
                scripts: scripts
            ).timers(after: isTrue(70) ? lastWebhook : nil)
            lastWebhook = queue.last.map { position($0) }
            return timers
        case 3, 4:
            // In any order, and some that are gone.
            let chosen = queue.shuffled(using: &random).prefix(number(0..<10)).map { position($0) }
            let gone = StreamPosition(stream: 1, serial: UInt64(number(1..<9)))
            return calls.settle(
                delivered: Array(chosen.prefix(5)),
                dead: Array(chosen.dropFirst(5)) + (isTrue(20) ? [gone] : [])
            )
        default: return due(calls, data)
        }
    }

    /// What is due, or anything.
    private mutating func due(_ calls: PartitionCalls, _ data: Keyspace) -> Call {
        let items = data[sorted: ByteString(keys.due.description)]
            .members(upTo: data.time, limit: .max)
            .filter { !$0.hasPrefix("v:") && !$0.hasPrefix("m:") }
        guard isTrue(80), !items.isEmpty else {
            return switch number(0..<3) {
            case 0: calls.announceCount(of: channel(), rules())
            case 1: calls.trim(channel(), age: 20_000, interval: 60_000, rules())
            default: calls.announceOffline(user())
            }
        }
        // Numbers of subscriptions are seldom due.
        let chosen = items.first { $0.hasPrefix("#:") } ?? one(of: items)
        let parts = chosen.parts(3, by: ":").map(\.description)
        let channel = ClusterChannel(app: parts[1], name: parts[2])
        return switch parts[0] {
        case "#": calls.announceCount(of: channel, rules())
        case "t": calls.trim(channel, age: 20_000, interval: 60_000, rules())
        default: calls.announceOffline(ClusterUser(app: parts[1], id: parts[2]))
        }
    }
}
