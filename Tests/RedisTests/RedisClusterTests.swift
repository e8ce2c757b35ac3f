import Net
import RESP
import Redis
import TestPorts
import TestRedis
import Testing

@Suite("A real Redis Cluster") struct RedisClusterTests {
    private static let scripts = ClusterScripts(isSharded: true)
    private static let partitions = PartitionKeys.all(prefix: "f", count: 16)

    /// A server of a cluster, and an operator's connection to it.
    private final class Member {
        let port: UInt16
        let busPort: UInt16
        let redis: RedisProcess
        let live: LiveRedis
        let id: String
        var url: RedisURL {
            get throws { try RedisURL("redis://127.0.0.1:\(port)") }
        }
        var location: RedisURL.Location { .host("127.0.0.1", port: port) }

        init() throws {
            (port, busPort) = (freePort(), freePort())
            redis = try RedisProcess([
                "--port", "\(port)", "--bind", "127.0.0.1", "--cluster-enabled", "yes",
                "--cluster-port", "\(busPort)", "--cluster-node-timeout", "5000",
                "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0",
            ])
            var settings = LiveRedis.patience
            settings.scripts = RedisClusterTests.scripts.all
            settings.requiresPrimary = false
            live = try LiveRedis(redis, settings)
            live.run { [live] in !live.owner.events.isEmpty }
            id = try live.call("CLUSTER", "MYID").text
        }

        func meet(_ other: Member) throws {
            try live.call("CLUSTER", "MEET", "127.0.0.1", "\(other.port)", "\(other.busPort)")
        }

        /// Waits until `CLUSTER INFO` contains a line.
        func wait(for line: String) throws {
            live.run {
                let info = try? live.call("CLUSTER", "INFO").text
                return info?.split(whereSeparator: \.isNewline).contains { $0 == line } == true
            }
        }

        /// Sends a call, and returns the redirection by which it is refused.
        func redirection(of call: ScriptCall) throws -> Redirection? {
            let url = try url
            return try live.reply(to: live.connection.send(call)) { reply in
                RedisError(reply).flatMap { Redirection($0, from: url) }
            }
        }
    }

    /// Starts three primaries, each with a third of the slots.
    private func cluster() throws -> [Member] {
        let members = try (0..<3).map { _ in try Member() }
        let bounds = [0, 5_461, 10_923, SlotMap.slotCount]
        for (index, member) in members.enumerated() {
            try member.live.call("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
            try member.live.call(
                "CLUSTER",
                "ADDSLOTSRANGE",
                "\(bounds[index])",
                "\(bounds[index + 1] - 1)"
            )
        }
        for member in members.dropFirst() { try members[0].meet(member) }
        for member in members {
            try member.wait(for: "cluster_known_nodes:3")
            // A server that knows another does not know its slots yet.
            try member.wait(for: "cluster_slots_assigned:\(SlotMap.slotCount)")
            try member.wait(for: "cluster_state:ok")
        }
        return members
    }

    private final class Follower: RedisClusterWatchDelegate {
        var maps: [SlotMap] = []
        func redisCluster(_ watch: RedisClusterWatch, has map: SlotMap) { maps.append(map) }
    }

    private func watch(
        _ seeds: [RedisURL],
        interval: Duration = .seconds(60),
        on live: LiveRedis,
        _ follower: Follower
    ) -> RedisClusterWatch {
        RedisClusterWatch(
            .init(
                seeds: seeds,
                connection: LiveRedis.patience,
                interval: interval,
                retryInterval: .milliseconds(20)
            ),
            on: live.reactor,
            delegate: follower
        )
    }

    private func registration(_ keys: PartitionKeys) -> ScriptCall {
        PartitionCalls(node: "a", keys: keys, scripts: Self.scripts)
            .register(with: ClusterStore.server("1"), known: 0, .primary)
    }

    @Test func isReachedByItsMap() throws {
        let members = try cluster()
        let (live, follower) = (members[0].live, Follower())
        // The first seed does not answer, and the second is no cluster.
        let single = try RedisProcess()
        let dead = try RedisURL("redis://127.0.0.1:\(freePort())")
        let watch = try watch([dead, single.url, members[1].url], on: live, follower)
        live.run { watch.map != nil }
        let map = try #require(watch.map)
        #expect(map.isComplete && Set(map.servers) == Set(members.map(\.location)))
        for keys in Self.partitions {
            let server = try #require(map.server(of: keys))
            for member in members {
                let redirection = try member.redirection(of: registration(keys))
                if member.location == server {
                    #expect(redirection == nil)
                } else {
                    #expect(redirection?.kind == .moved && redirection?.server == server)
                    #expect(redirection?.slot == keys.slot)
                }
            }
        }
        // Each has its share.
        let shares = Dictionary(grouping: Self.partitions) { map.server(of: $0) }
        #expect(shares.values.map(\.count).sorted() == [5, 5, 6])
        watch.stop()
        live.run { live.reactor.streamCount == 1 }
        #expect(follower.maps.count == 1)
    }

    /// Moves a slot without keys.
    private func move(_ slot: Int, from old: Member, to new: Member) throws {
        for member in [new, old] {
            let reply = try member.live.call("CLUSTER", "SETSLOT", "\(slot)", "NODE", new.id)
            #expect(reply == .text(.simpleString, "OK"))
        }
    }

    @Test func endsTheSubscriptionsOfASlotThatMoves() throws {
        let members = try cluster()
        let (live, follower) = (members[0].live, Follower())
        let keys = Self.partitions[0]
        let channel = ClusterStore.channel("x")
        let topic = keys.announcements(channel).description
        let watch = try watch([members[0].url], on: live, follower)
        live.run { watch.map != nil }
        #expect(watch.map?.server(of: keys) == members[0].location)
        try live.connection.subscribe(to: [topic], isSharded: true)
        // Another primary does not have the channel's slot.
        let refused = try members[1].live.connection.subscribe(to: [topic], isSharded: true)
        let error = try members[1].live.reply(to: refused) { RedisError($0)?.code }
        #expect(error == .moved)
        try live.call("SPUBLISH", topic, "before")
        #expect(
            try pushes(of: live) == [["ssubscribe", topic, "1"], ["smessage", topic, "before"]]
        )

        try move(keys.slot, from: members[0], to: members[1])
        // Without a call.
        #expect(try pushes(of: live) == [["sunsubscribe", topic, "0"]])
        let redirection = try #require(try members[0].redirection(of: registration(keys)))
        #expect(redirection.server == members[1].location && follower.maps.count == 1)
        watch.follow(redirection)
        live.run { watch.map?.server(of: keys) == members[1].location }
        // One that the map knows asks nobody.
        watch.follow(redirection)
        #expect(try members[1].redirection(of: registration(keys)) == nil)
        // A purge announces the stream that begins; by SPUBLISH, or the subscriber would not get it.
        try members[1].live.connection.subscribe(to: [topic], isSharded: true)
        let purge = PartitionCalls(node: "a", keys: keys, scripts: Self.scripts)
            .purge(channel, begins: true)
        #expect(try members[1].redirection(of: purge) == nil)
        let words = try pushes(of: members[1].live).map { $0[0] }
        #expect(words == ["ssubscribe", "smessage"])
        #expect(follower.maps.count == 2)
    }

    @Test("Ending a subscription and moving its slot at once mixes up no replies")
    func unsubscribesFromASlotThatHasMoved() throws {
        let members = try cluster()
        let keys = Self.partitions[0]
        let topic = keys.announcements(ClusterStore.channel("x")).description
        let subscriber = try LiveRedis.opened(members[0].redis)
        try subscriber.connection.subscribe(to: [topic], isSharded: true)
        #expect(try pushes(of: subscriber) == [["ssubscribe", topic, "1"]])
        // The subscriber reads nothing meanwhile.
        try move(keys.slot, from: members[0], to: members[1])
        let refused = try subscriber.connection.unsubscribe(from: [topic], isSharded: true)
        let echoes = try (0..<3).map { try subscriber.connection.call("ECHO", "\($0)") }
        subscriber.run { subscriber.owner.events.count >= 5 }
        let events = subscriber.owner.takeEvents()
        #expect(events.count == 5)
        #expect(
            events.first == .push(.list(.push, [.bulk("sunsubscribe"), .bulk(topic), .integer(0)]))
        )
        guard case .reply(refused.number, let error) = events[1] else {
            Issue.record("\(events)")
            return
        }
        #expect(RedisError(error.text).code == .moved)
        #expect(
            events.dropFirst(2)
                == echoes.indices.map { .reply(echoes[$0].number, .bulk("\($0)")) }[...]
        )
    }

    /// Removes and returns the pushes.
    private func pushes(of live: LiveRedis) throws -> [[String]] {
        try live.call("PING")
        return live.owner.takeEvents().compactMap { event in
            guard case .push(let push) = event else { return nil }
            return push.elements.map(\.text)
        }
    }

    @Test func asksAgainWhenTheOwnerNoticesAChange() throws {
        let members = try cluster()
        let (live, follower) = (members[0].live, Follower())
        let watch = try watch([members[0].url], on: live, follower)
        live.run { watch.map != nil }
        try move(Self.partitions[0].slot, from: members[0], to: members[2])
        watch.refresh()
        watch.refresh()
        live.run { watch.map?.server(of: Self.partitions[0]) == members[2].location }
        #expect(follower.maps.count == 2 && watch.map?.isComplete == true)
    }

    @Test("A slot on its way is refused on both sides, until it has moved")
    func refusesASlotOnItsWay() throws {
        let members = try cluster()
        let (old, new) = (members[0], members[1])
        let keys = Self.partitions[0]
        let call = registration(keys)
        #expect(try old.redirection(of: call) == nil)
        let slot = "\(keys.slot)"
        try new.live.call("CLUSTER", "SETSLOT", slot, "IMPORTING", old.id)
        try old.live.call("CLUSTER", "SETSLOT", slot, "MIGRATING", new.id)
        func code(_ member: Member, _ call: ScriptCall) throws -> RedisError.Code? {
            try member.live.reply(to: member.live.connection.send(call)) { RedisError($0)?.code }
        }
        // Some keys exist, and others do not.
        #expect(try code(old, call) == .tryAgain)
        let other = PartitionCalls(node: "b", keys: keys, scripts: Self.scripts)
        let missing = other.positions(of: [])
        // The only key is still here.
        #expect(try code(old, missing) == nil)
        let names = try old.live.call("CLUSTER", "GETKEYSINSLOT", slot, "10").elements.map(\.text)
        for name in names {
            try old.live.call("MIGRATE", "127.0.0.1", "\(new.port)", name, "0", "20000")
        }
        #expect(names.count == 3)
        let redirection = try #require(try old.redirection(of: missing))
        #expect(redirection.kind == .ask && redirection.server == new.location)
        // Not followed: the map does not change, since the slot has not moved.
        let follower = Follower()
        let watch = try watch([old.url], on: old.live, follower)
        old.live.run { watch.map != nil }
        watch.follow(redirection)
        #expect(watch.map?.server(of: keys) == old.location)
        try move(keys.slot, from: old, to: new)
        #expect(try code(new, missing) == nil)
        #expect(try code(new, call) == nil)
        watch.refresh()
        old.live.run { watch.map?.server(of: keys) == new.location }
    }

    @Test func followsAFailover() throws {
        let members = try cluster()
        let (live, follower) = (members[0].live, Follower())
        let replica = try Member()
        try members[0].meet(replica)
        try replica.wait(for: "cluster_known_nodes:4")
        try replica.live.call("CLUSTER", "REPLICATE", members[1].id)
        replica.live.run {
            let role = try? replica.live.call("ROLE").elements
            return role?.first?.text == "slave" && role?[3].text == "connected"
        }
        let watch = try watch(
            [members[0].url],
            interval: .milliseconds(20),
            on: live,
            follower
        )
        live.run { watch.map != nil }
        let keys = try #require(
            Self.partitions.first { watch.map?.server(of: $0) == members[1].location }
        )
        // All know whose replica it is, or they would not vote for it.
        let line =
            "\(replica.id) 127.0.0.1:\(replica.port)@\(replica.busPort) slave \(members[1].id) "
        for member in members {
            member.live.run {
                let nodes = try? member.live.call("CLUSTER", "NODES").text
                return nodes?.contains(line) == true
            }
        }
        let reply = try replica.live.call("CLUSTER", "FAILOVER")
        #expect(reply == .text(.simpleString, "OK"))
        live.run { watch.map?.server(of: keys) == replica.location }
        #expect(watch.map?.isComplete == true)
        #expect(watch.map?.servers.contains(members[1].location) == false)
        watch.stop()
    }

    @Test func asksAnotherServerWhenOneIsGone() throws {
        let members = try cluster()
        let (live, follower) = (members[2].live, Follower())
        let watch = try watch([members[0].url], on: live, follower)
        live.run { watch.map != nil }
        // The only seed.
        members[0].redis.stop()
        let keys = try #require(
            Self.partitions.first { watch.map?.server(of: $0) == members[1].location }
        )
        try move(keys.slot, from: members[1], to: members[2])
        watch.refresh()
        live.run { watch.map?.server(of: keys) == members[2].location }
        #expect(follower.maps.count == 2)
    }
}
