import Net
import RESP
import Redis
import RedisModel
import TestRedis
import Testing

@Suite("Model of Redis") struct ModelServerTests {
    private static let scripts = ClusterScripts(isSharded: false)
    private let calls = PartitionCalls(node: "a", keys: ClusterStore.keys, scripts: scripts)

    private static func server() -> ModelServer {
        ModelServer(
            identity: .init(
                run: ClusterStore.runID("1"),
                replication: ClusterStore.runID("2"),
                startedAt: 0
            )
        )
    }

    /// A server with loaded scripts, and a connection to it.
    private func loaded() -> (ModelServer, ModelServer.Connection) {
        var server = Self.server()
        let connection = server.connect()
        for script in Self.scripts.all {
            let source = ByteString(script.source)
            let outputs = server.execute(["SCRIPT", "LOAD", source], of: connection)
            #expect(outputs.map(\.value) == [.bulk(ByteString(script.digest))])
        }
        return (server, connection)
    }

    private func command(_ call: ScriptCall) throws -> [ByteString] {
        var decoder = CommandDecoder()
        return try #require(decoder.receive(call.bytes).first)
    }

    private let registration = ServerIdentity(run: ClusterStore.runID("1"), replication: "r")

    @Test func opensARealConnectionAndAnswersItsCalls() throws {
        let redis = try ScriptedRedis(RedisSettings(clientName: "web", scripts: Self.scripts.all))
        var server = Self.server()
        let connection = server.connect()
        var decoder = CommandDecoder()
        func exchange() throws {
            redis.settle()
            for command in try decoder.receive(redis.bytes()) {
                for output in server.execute(command, of: connection) {
                    var bytes: [UInt8] = []
                    output.value.encode(to: &bytes)
                    redis.send(bytes)
                }
            }
        }
        try exchange()
        #expect(redis.owner.takeEvents() == [.opened])
        let identity = try #require(redis.owner.server)
        #expect(identity.runID == RunID(ClusterStore.runID("1")) && identity.isPrimary)
        #expect(identity.replicationID == RunID(ClusterStore.runID("2")))
        #expect(identity.formerReplicationID == nil && identity.startedAt == 1_000)

        let channel = ClusterStore.channel("x")
        let name = calls.keys.announcements(channel).description
        try redis.connection.subscribe(to: [name])
        try redis.connection.send(
            calls.register(with: ServerIdentity(identity, connection: "1"), known: 0, .primary)
        )
        let call = calls.attach(to: [.init(to: channel, count: 1, [.stream])])
        let attached = try redis.connection.send(call)
        var attachment: ChannelAttachment?
        redis.owner.onReply[attached] = { attachment = ChannelAttachment.all($0)?.first }
        try redis.connection.call("CLIENT", "GETNAME")
        try exchange()
        let stream = try #require(attachment?.newest?.stream)
        #expect(attachment?.subscriptionCount == 1 && attachment?.wasVacant == true)
        let pushes = redis.owner.takeEvents().compactMap { event -> [String]? in
            guard case .push(let push) = event else { return nil }
            return push.elements.map(\.text)
        }
        let beginning = "0 ! - \(server.time) \(stream) first"
        #expect(pushes == [["subscribe", name, "1"], ["message", name, beginning]])
    }

    @Test func waitsForReplicas() {
        var (server, waiting) = loaded()
        let writing = server.connect()
        func values(_ outputs: [ModelServer.Output]) -> [RESPValue] { outputs.map(\.value) }
        // Nothing was written on this connection, but there is no replica yet.
        #expect(server.execute(["WAIT", "1", "0"], of: waiting) == [])
        #expect(values(server.acknowledge(0, by: "replica")) == [.integer(1)])
        _ = server.execute(["INCR", "n"], of: writing)
        #expect(values(server.execute(["INCRBY", "c", "0"], of: waiting)) == [.integer(0)])
        #expect(server.writeCount == 2)
        #expect(server.execute(["WAIT", "1", "500"], of: waiting) == [])
        // Behind it, everything waits; other connections go on.
        #expect(server.execute(["PING"], of: waiting) == [])
        #expect(values(server.execute(["INCR", "n"], of: writing)) == [.integer(2)])
        #expect(server.acknowledge(1, by: "replica") == [])
        let answered = values(server.acknowledge(2, by: "replica"))
        #expect(answered == [.integer(1), .simpleString("PONG")])
        // After the time, with as many as have it.
        _ = server.execute(["INCRBY", "c", "0"], of: waiting)
        #expect(server.execute(["WAIT", "1", "500"], of: waiting) == [])
        #expect(server.advance(to: server.time + 499).outputs == [])
        #expect(values(server.advance(to: server.time + 1).outputs) == [.integer(0)])
    }

    @Test func replicatesToAnyPrefix() throws {
        var (primary, connection) = loaded()
        var replica = primary.makeReplica(run: ClusterStore.runID("3"))
        let start = primary.writeCount
        let register = calls.register(with: registration, known: 0, .primary)
        _ = primary.execute(try command(register), of: connection)
        var states: [[ByteString]] = []
        let message = message(on: "x")
        for number in 1...5 {
            primary.advance(to: primary.time + Int64(number))
            _ = primary.execute(try command(calls.publish([message], opens: true)), of: connection)
            states.append(primary.data.keys)
        }
        let stream = ByteString(calls.keys.messages(message.channel).description)
        for write in primary.writes(from: start).prefix(4) { replica.replicate(write) }
        #expect(replica.data[stream: stream]?.count == 3 && replica.data.keys == states[2])
        #expect(replica.writeCount == start + 4)
        // A replica refuses what changes data; also a demoted primary, which still publishes.
        replica.demote()
        let client = replica.connect()
        let refused = replica.execute(try command(register), of: client)
        #expect(refused.first?.value.string?.hasPrefix("READONLY ") == true)
        let incremented = replica.execute(["INCRBY", "c", "0"], of: client)
        #expect(incremented.first?.value.string?.hasPrefix("READONLY ") == true)
        #expect(replica.execute(["PUBLISH", "a", "b"], of: client).map(\.value) == [.integer(0)])
        replica.promote(replication: ClusterStore.runID("4"))
        #expect(replica.identity.formerReplication == primary.identity.replication)
        let opened = replica.execute(try command(calls.publish([message])), of: client)
        #expect(opened.first?.value.elements.first?.string?.description.hasSuffix("-4") == true)
    }

    @Test func forgetsScriptsAndConnections() throws {
        var (server, connection) = loaded()
        let other = server.connect()
        _ = server.execute(["SUBSCRIBE", "a", "b"], of: other)
        #expect(server.execute(["PUBLISH", "a", "1"], of: connection).count == 2)
        _ = server.execute(["UNSUBSCRIBE", "a"], of: other)
        #expect(server.execute(["PUBLISH", "a", "1"], of: connection).count == 1)
        server.disconnect(other)
        #expect(server.execute(["PUBLISH", "b", "1"], of: connection).count == 1)
        _ = server.execute(["SCRIPT", "FLUSH"], of: connection)
        let heartbeat = try command(calls.heartbeat(lease: 1, .primary))
        let refused = server.execute(heartbeat, of: connection).first?.value.string
        #expect(refused?.hasPrefix("NOSCRIPT ") == true)
        let unknown = server.execute(["OBJECT", "FREQ", "a"], of: connection).first?.value.string
        #expect(unknown?.hasPrefix("ERR unknown command") == true)
    }

    @Test("Without memory, the same calls are refused as by a real server")
    func refusesWithoutMemory() throws {
        let store = try ClusterStore(["--maxmemory", "1"])
        var (server, connection) = loaded()
        server.refusal = .outOfMemory
        let (channel, user) = (ClusterStore.channel("x"), ClusterUser(app: "1", id: "u"))
        let session = ClusterSession(app: "1", token: "t")
        let all = [
            calls.register(with: registration, known: 0, .primary),
            calls.heartbeat(lease: 10_000, .primary), calls.condemn("b", lease: 10_000),
            calls.claimNumber(former: 0, lifetime: 1),
            calls.publish([message()]), calls.publish([message()], opens: true),
            calls.purge(channel, begins: false), calls.positions(of: [channel]),
            calls.attach(to: [.init(to: channel, count: 1, [])]), calls.detach(from: channel),
            calls.join(channel, as: "u", info: [], membersMax: 1), calls.leave(channel, as: "u"),
            calls.reap(channel, of: "b"), calls.setConnections(of: user, to: 1),
            calls.watch([user]), calls.terminate(user),
            calls.claim(
                session,
                for: .init(socketID: "1.1", openedAt: 1),
                age: 1,
                sessionsMax: 1
            ),
            calls.park(
                session,
                of: .init(socketID: "1.1", openedAt: 1),
                [],
                age: 1,
                .park
            ), calls.timers(after: nil),
            calls.announceCount(of: channel, .init()), calls.trim(channel, age: 1, interval: 1),
            calls.announceOffline(user), calls.settle(delivered: []),
            calls.beginStream(of: channel), calls.uses(of: ["1"]),
        ]
        #expect(Set(all.map(\.script)) == Set(Self.scripts.all))
        for call in all {
            let reply = server.execute(try command(call), of: connection).last?.value
            var refusal: RedisError?
            if case .error(let text) = reply { refusal = RedisError(text.description) }
            #expect(try store.refusal(of: call)?.code == refusal?.code, "\(call.script.name)")
        }
    }

    @Test("More than 64 items and users are removed in several calls")
    func removesInParts() throws {
        var (server, connection) = loaded()
        func reply(_ call: ScriptCall) throws -> RESPValue {
            try #require(server.execute(command(call), of: connection).last?.value)
        }
        let other = PartitionCalls(node: "b", keys: calls.keys, scripts: Self.scripts)
        _ = try reply(other.register(with: registration, known: 0, .primary))
        let channels = (0..<70).map { ClusterStore.channel("c\($0)") }
        for channel in channels {
            _ = try reply(other.attach(to: [.init(to: channel, count: 1, [])]))
        }
        for number in 0..<70 {
            _ = try reply(other.join(channels[0], as: "u\(number)", info: [], membersMax: 100))
        }
        server.advance(to: server.time + 10_001)
        var counts: [Int] = []
        while case let items = try reply(calls.condemn("b", lease: 10_000)).elements.dropFirst(),
            !items.isEmpty
        {
            counts.append(items.count)
            for item in items {
                let name = try #require(item.string?.parts(3, by: ":").last)
                let channel = ClusterStore.channel(name.description)
                while try reply(calls.reap(channel, of: "b")).elements[1] == .integer(1) {
                    counts.append(-1)
                }
            }
        }
        #expect(counts.sorted() == [-1, 6, 64])
        // Nothing is left but the times at which the departures are reported.
        #expect(server.data.keys.map { $0.description.split(separator: ":").last } == ["g"])
    }
}
