import Redis
import TestRedis
import Testing

/// A primary fails whose replica lacks its last messages.
@Suite("Failover to a replica that lags behind") struct FailoverTests {
    @Test func usesNoPositionTwice() throws {
        let port = try freePort()
        let old = try ClusterStore(["--port", "\(port)", "--bind", "127.0.0.1"])
        let replica = try RedisProcess([
            "--replicaof", "127.0.0.1 \(port)", "--repl-diskless-sync-delay", "0",
        ])
        let watch = try LiveRedis(
            replica,
            RedisSettings(
                requiresPrimary: false,
                openTimeout: .seconds(20),
                answerTimeout: .seconds(20)
            )
        )
        watch.run { !watch.owner.events.isEmpty }
        try old.register(run: "1")
        var positions = [try old.open()]
        for _ in 1..<50 { positions.append(try old.open()) }
        #expect(try old.live.call("WAIT", "1", "20000") == .integer(1))
        // From here on the replica gets nothing any more.
        try watch.call("REPLICAOF", "127.0.0.1", "1")
        for _ in 0..<40 { positions.append(try old.open()) }
        #expect(positions.last?.serial == 90)
        old.redis.stop()
        try watch.call("REPLICAOF", "NO", "ONE")

        let new = try ClusterStore(replica)
        let registration = try new.register(run: "2", known: positions[0].stream)
        #expect(!registration.epoch.isClean && registration.wasRegistered)
        // A publisher that knows the old stream, and one that knows none.
        #expect(try new.publish(message()) == [.stale])
        let next = try new.open()
        #expect(next.serial == 1 && !positions.map(\.stream).contains(next.stream))
        #expect(next.stream > registration.epoch.since)
        let named = message(in: .id(positions[0].stream))
        #expect(try new.publish(named) == [.stale])
        // What the replica had is still there, in front of the new stream.
        let kept = try new.call("XRANGE", new.messages, "-", "+").elements.map(\.elements[0].text)
        #expect(kept == positions.prefix(50).map(\.description) + [next.description])
    }
}
