import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: nodes and epochs") struct RegisterScriptTests {
    private let keys = ClusterStore.keys

    @Test func beginsTheFirstEpoch() throws {
        let store = try ClusterStore()
        let first = try store.register()
        #expect(first.time > 1_700_000_000_000 && first.epoch.since == UInt64(first.time) + 1)
        #expect(!first.epoch.isClean && !first.wasRegistered && first.counter == 0)
        let second = try store.register()
        #expect(second.epoch == first.epoch && second.wasRegistered)
        let other = try store.register("b")
        #expect(other.epoch == first.epoch && !other.wasRegistered)
        #expect(try store.call("SMEMBERS", keys.items(of: "a")) == .list(.set, [.bulk(".")]))
        #expect(try store.call("ZCARD", keys.nodes) == .integer(2))
    }

    @Test func beginsAnEpochWithAnotherProcess() throws {
        let store = try ClusterStore()
        let future = UInt64(try store.register().time) + 1_000_000
        // The clock of the promoted server may be behind.
        let second = try store.register(run: "2", known: future)
        #expect(second.epoch.since == future + 1 && !second.epoch.isClean)
        // The old process again: never less than before.
        #expect(try store.register(run: "1").epoch.since == future + 2)
        #expect(try store.register("b", run: "1", known: future + 50).epoch.since == future + 51)
        #expect(try store.heartbeat().epoch.since == future + 51)
        #expect(try store.register("c", run: "1", known: future).epoch.since == future + 51)
    }

    @Test func leavesALeadershipToOthers() throws {
        let store = try ClusterStore()
        for node in ["a", "b"] { try store.register(node) }
        func leads(_ node: String, mayLead: Bool = true) throws -> Bool {
            let call = store.calls(of: node).heartbeat(lease: 10_000, .primary, mayLead: mayLead)
            return try store.send(call) { Heartbeat($0) }.leads
        }
        #expect(try leads("a") && !leads("b"))
        // Another's leadership is not given up.
        #expect(try !leads("b", mayLead: false) && leads("a"))
        #expect(try !leads("a", mayLead: false))
        #expect(try !leads("a", mayLead: false) && leads("b") && !leads("a"))
    }

    @Test(
        "An epoch is clean if all replicas had every acknowledged message of the one before",
        arguments: [
            ([.all], true), ([.replica], false), ([.primary], false), ([.all, .all], true),
            ([.all, .replica], false), ([.replica, .all], false),
        ] as [([Acknowledgement], Bool)]
    )
    func isClean(acknowledgements: [Acknowledgement], isClean: Bool) throws {
        let store = try ClusterStore()
        for (index, acknowledgement) in acknowledgements.enumerated() {
            try store.register("\(index)", acknowledgement)
        }
        let promoted = ClusterStore.server("2", after: "1")
        #expect(try store.register("z", with: promoted, .all).epoch.isClean == isClean)
        #expect(try store.heartbeat("z", .all).epoch.isClean == isClean)
        // A heartbeat can take the promise back, but not give it.
        try store.heartbeat("z", .replica)
        try store.heartbeat("z", .all)
        #expect(
            try store.register("z", with: ClusterStore.server("3", after: "2")).epoch.isClean
                == false
        )
    }

    @Test(
        "An epoch is clean if the server was a replica of the last primary to its end",
        arguments: [
            ("promoted", ClusterStore.server("2", after: "1"), true),
            ("promoted from another", ClusterStore.server("2", after: "3"), false),
            ("without a former history", ClusterStore.server("2"), false),
            (
                "restarted from its file",
                ServerIdentity(
                    run: ClusterStore.runID("2"),
                    replication: "r2",
                    formerReplication: "r1",
                    startedAt: 4_000_000_000_000
                ), false
            ),
            (
                "demoted, and promoted again",
                ServerIdentity(
                    run: ClusterStore.runID("1"),
                    replication: "r2",
                    formerReplication: "r3",
                    startedAt: 0
                ), false
            ),
        ] as [(String, ServerIdentity, Bool)]
    )
    func dependsOnTheServer(_ name: String, server: ServerIdentity, isClean: Bool) throws {
        let store = try ClusterStore()
        let first = try store.register("a", .all)
        let second = try store.register("a", with: server, .all)
        #expect(second.epoch.since > first.epoch.since && second.epoch.isClean == isClean)
    }

    @Test func goesOnWhenABacklogIsMade() throws {
        let store = try ClusterStore()
        let first = try store.register()
        var server = ClusterStore.server("1")
        server.replication = "r9"
        #expect(try store.register(with: server).epoch == first.epoch)
        // From now on a promotion refers to the new history.
        #expect(try store.call("HGET", keys.epoch, "replication") == .bulk("r9"))
        // A host that hides everything.
        let hidden = ServerIdentity(run: "connection 1")
        let second = try store.register(with: hidden)
        #expect(second.epoch.since > first.epoch.since)
        #expect(try store.register(with: hidden).epoch == second.epoch)
    }

    @Test("A primary that was promoted again has not what another one executed in between")
    func promotedAgain() throws {
        let store = try ClusterStore()
        func register(_ node: String, in failover: Int64) throws -> Epoch {
            var server = ClusterStore.server("1")
            server.configurationEpoch = failover
            return try store.register(node, with: server, .all).epoch
        }
        let first = try register("a", in: 3)
        // A node that has asked earlier.
        #expect(try register("b", in: 1) == first)
        #expect(try register("b", in: 3) == first)
        let second = try register("b", in: 5)
        #expect(second.since > first.since && !second.isClean)
        #expect(try register("a", in: 5) == second)
        #expect(try register("a", in: 4) == second)
        // Sentinels that were set up anew count from the start, and another process takes that over.
        let promoted = ClusterStore.server("2", after: "1")
        let third = try store.register("a", with: promoted, .all).epoch
        #expect(third.since > second.since && third.isClean)
        #expect(try store.call("HGET", keys.epoch, "failover") == .bulk("0"))
        // Data of a version that did not keep it.
        try store.call("HDEL", keys.epoch, "failover")
        #expect(try store.register("a", with: ClusterStore.server("2"), .all).epoch == third)
        #expect(try store.call("HGET", keys.epoch, "failover") == .bulk("0"))
    }

    @Test func refusesAnotherLayout() throws {
        let store = try ClusterStore()
        try store.register()
        try store.call("HSET", keys.epoch, "layout", "1")
        let call = store.calls(of: "b").register(with: ClusterStore.server("1"), known: 0, .primary)
        let error = try store.refusal(of: call)
        #expect(error?.text == "LAYOUT the data has layout 1, and the node has layout 2")
        #expect(try store.call("EXISTS", keys.items(of: "b")) == .integer(0))
    }

    @Test func renewsNodeAndLeadership() throws {
        let store = try ClusterStore()
        try store.register("a")
        try store.register("b")
        #expect(try store.heartbeat("a").leads)
        let other = try store.heartbeat("b")
        #expect(!other.leads && other.isRegistered && other.dead.isEmpty)
        let lease = try #require(Int(store.call("PTTL", keys.leader).text))
        #expect(1...10_000 ~= lease)
        try store.call("DEL", keys.leader)
        #expect(try store.heartbeat("b").leads)
        #expect(try store.heartbeat("a").leads == false)
    }

    @Test func namesNodesWhoseLeaseIsOver() throws {
        let store = try ClusterStore()
        for node in ["a", "b", "c"] { try store.register(node) }
        let time = try store.heartbeat("a").time
        try store.call("ZADD", keys.nodes, "\(time - 10_001)", "b", "\(time - 5_000)", "c")
        #expect(try store.heartbeat("a").dead == ["b"])
        try store.call("ZADD", keys.nodes, "0", "c")
        #expect(try store.heartbeat("a").dead == ["c", "b"])
    }

    @Test func doesNotRenewANodeThatWasRemoved() throws {
        let store = try ClusterStore()
        try store.register("a")
        try store.call("DEL", keys.items(of: "a"))
        try store.call("ZREM", keys.nodes, "a")
        let fenced = try store.heartbeat("a")
        #expect(!fenced.isRegistered && !fenced.leads)
        #expect(try store.call("ZCARD", keys.nodes) == .integer(0))
        // All data is gone.
        try store.live.call("FLUSHALL")
        let empty = try store.heartbeat("a")
        #expect(!empty.isRegistered && empty.epoch.since == 0)
        #expect(try store.register("a").wasRegistered == false)
    }

    @Test func worksWithoutMemory() throws {
        let store = try ClusterStore()
        try store.register()
        #expect(try store.attach().wasVacant)
        try store.live.call("CONFIG", "SET", "maxmemory", "1")
        #expect(try store.heartbeat().isRegistered)
        #expect(try store.register("b").wasRegistered == false)
        let channel = ClusterStore.channel("y")
        let call = store.calls(of: "a").attach(to: [.init(to: channel, count: 1, [])])
        #expect(try store.refusal(of: call)?.code == .outOfMemory)
        #expect(try store.detach().becameVacant)
    }

    @Test("An epoch goes on at a server to which the slot has moved")
    func movedSlot() throws {
        let store = try ClusterStore()
        let first = try store.register()
        func register(_ node: String, at run: Character, from origin: Character?, known: UInt64 = 0)
            throws -> Registration
        {
            let call = store.calls(of: node).register(
                with: ClusterStore.server(run),
                known: known,
                .primary,
                in: first.epoch,
                movedFrom: origin.map { ClusterStore.server($0).run }
            )
            return try store.send(call) { Registration($0) }
        }
        // A newer stream of the same epoch does not end it.
        let known = first.epoch.since + 5
        #expect(try register("a", at: "2", from: "1", known: known).epoch == first.epoch)
        #expect(try register("b", at: "2", from: "1", known: known).epoch == first.epoch)
        #expect(try register("c", at: "2", from: nil, known: known).epoch == first.epoch)
        // Another process than that of the epoch, and none.
        let second = try register("a", at: "3", from: "1").epoch
        #expect(second.since > first.epoch.since)
        #expect(try register("a", at: "4", from: nil).epoch.since > second.since)
    }

    @Test("A server that has followed the one that had the slot may lack its last writes")
    func replacedServer() throws {
        let store = try ClusterStore()
        let epoch = try store.register().epoch
        let call = store.calls(of: "a").register(
            with: ClusterStore.server("2", after: "1"),
            known: 0,
            .primary,
            in: epoch,
            movedFrom: ClusterStore.server("1").run
        )
        let next = try store.send(call) { Registration($0) }.epoch
        #expect(next.since > epoch.since && !next.isClean)
    }
}
