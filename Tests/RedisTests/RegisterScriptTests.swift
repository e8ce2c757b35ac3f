import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: nodes and epochs") struct RegisterScriptTests {
    @Test func beginsTheFirstEpoch() throws {
        let store = try ClusterStore()
        let first = try store.registered()
        #expect(first.since > 1_700_000_000_000 && first.since == first.time + 1)
        #expect(first.clean == 0 && first.wasRegistered == 0 && first.counter == 0)
        let second = try store.registered()
        #expect(second.since == first.since && second.wasRegistered == 1)
        let other = try store.registered("b")
        #expect(other.since == first.since && other.wasRegistered == 0)
        #expect(try store.call("SMEMBERS", "i:a") == .list(.set, [.bulk(".")]))
        #expect(try store.call("ZCARD", "nodes") == .integer(2))
    }

    @Test func beginsAnEpochWithAnotherProcess() throws {
        let store = try ClusterStore()
        let first = try store.registered()
        let future = first.time + 1_000_000
        // The clock of the promoted server may be behind.
        let second = try store.registered(run: "2", known: future)
        #expect(second.since == future + 1 && second.clean == 0)
        // The old process again, with an even later ID before it: never less than before.
        #expect(try store.registered(run: "1").since == future + 2)
        let same = try store.registered("b", run: "1", known: future + 50)
        #expect(same.since == future + 51)
        #expect(try store.heartbeat().since == future + 51)
    }

    @Test(
        "An epoch is clean if all replicas had every acknowledged message of the one before",
        arguments: [
            (["all"], 1), (["replica"], 0), (["primary"], 0), (["all", "all"], 1),
            (["all", "replica"], 0),
            (["replica", "all"], 0),
        ]
    )
    func isClean(modes: [String], clean: Int) throws {
        let store = try ClusterStore()
        for (index, mode) in modes.enumerated() { try store.registered("\(index)", mode: mode) }
        #expect(try store.registered("z", run: "2", mode: "all").clean == clean)
        #expect(try store.heartbeat("z", mode: "all").clean == clean)
        // A heartbeat can take the promise back.
        _ = try store.heartbeat("z", mode: "replica")
        #expect(try store.registered("z", run: "3").clean == 0)
    }

    @Test func refusesAnotherLayout() throws {
        let store = try ClusterStore()
        try store.registered()
        let error = RedisError(try store.register("b", layout: 2).text)
        #expect(error.text == "LAYOUT the data has layout 1, and the node has layout 2")
        #expect(try store.call("EXISTS", "i:b") == .integer(0))
    }

    @Test func renewsNodeAndLeadership() throws {
        let store = try ClusterStore()
        try store.registered("a")
        try store.registered("b")
        #expect(try store.heartbeat("a").leads == 1)
        let other = try store.heartbeat("b")
        #expect(other.leads == 0 && other.isRegistered == 1 && other.dead.isEmpty)
        #expect(try store.call("PTTL", "leader").text.count >= 4)
        _ = try store.call("DEL", "leader")
        #expect(try store.heartbeat("b").leads == 1)
        #expect(try store.heartbeat("a").leads == 0)
    }

    @Test func namesNodesWhoseLeaseIsOver() throws {
        let store = try ClusterStore()
        for node in ["a", "b", "c"] { try store.registered(node) }
        let time = try store.heartbeat("a").time
        _ = try store.call("ZADD", "nodes", "\(time - 10_001)", "b", "\(time - 9_000)", "c")
        #expect(try store.heartbeat("a").dead == ["b"])
        _ = try store.call("ZADD", "nodes", "0", "c")
        #expect(try store.heartbeat("a").dead.sorted() == ["b", "c"])
    }

    @Test func doesNotRenewANodeThatWasRemoved() throws {
        let store = try ClusterStore()
        try store.registered("a")
        _ = try store.call("DEL", "i:a")
        _ = try store.call("ZREM", "nodes", "a")
        let fenced = try store.heartbeat("a")
        #expect(fenced.isRegistered == 0 && fenced.leads == 0)
        #expect(try store.call("ZCARD", "nodes") == .integer(0))
        // All data is gone.
        _ = try store.live.call("FLUSHALL")
        let empty = try store.heartbeat("a")
        #expect(empty.isRegistered == 0 && empty.since == 0)
        #expect(try store.registered("a").wasRegistered == 0)
    }

    @Test func worksWithoutMemory() throws {
        let store = try ClusterStore()
        try store.registered()
        _ = try store.attach()
        _ = try store.live.call("CONFIG", "SET", "maxmemory", "1")
        #expect(try store.heartbeat().isRegistered == 1)
        #expect(try store.registered("b").wasRegistered == 0)
        #expect(RedisError(try store.attach("y").text).code == .outOfMemory)
        #expect(try store.detach() == .list(.array, [.integer(0), .integer(1)]))
    }
}
