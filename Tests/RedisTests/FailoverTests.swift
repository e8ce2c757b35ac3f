import RESP
import Foundation
import Redis
import TestPorts
import TestRedis
import Testing

/// A primary fails whose replica lacks its last messages.
@Suite("Failover to a replica that lags behind") struct FailoverTests {
    private static func listening(on port: UInt16) -> [String] {
        ["--port", "\(port)", "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"]
    }

    @Test func usesNoPositionTwice() throws {
        let port = freePort()
        let old = try ClusterStore(Self.listening(on: port))
        let replica = try RedisProcess([
            "--replicaof", "127.0.0.1 \(port)",
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

    /// The identity of a server that runs.
    private func identity(of live: LiveRedis) throws -> ServerIdentity {
        var server = try #require(live.owner.server)
        server.read(info: try live.call("INFO", "server", "replication").text)
        return ServerIdentity(server, connection: "1")
    }

    @Test func isCleanAfterThePromotionOfAReplicaThatHasEverything() throws {
        let port = freePort()
        let old = try ClusterStore(Self.listening(on: port))
        let first = try old.register(with: identity(of: old.live), .all)
        let replica = try RedisProcess([
            "--replicaof", "127.0.0.1 \(port)",
        ])
        var settings = LiveRedis.patience
        settings.requiresPrimary = false
        let watch = try LiveRedis(replica, settings)
        watch.run { !watch.owner.events.isEmpty }
        // The backlog for the first replica has begun another history, but no epoch.
        #expect(try old.live.call("WAIT", "1", "20000") == .integer(1))
        var epoch = try old.register(with: identity(of: old.live), .all).epoch
        #expect(epoch == first.epoch)
        // A heartbeat after the start of the replica, whose uptime has seconds.
        while try identity(of: watch).startedAt + 2_000 > old.heartbeat("a", .all).time {
            try watch.call("PING")
        }
        #expect(try old.live.call("WAIT", "1", "20000") == .integer(1))
        old.redis.stop()
        try watch.call("REPLICAOF", "NO", "ONE")
        let new = try ClusterStore(replica)
        epoch = try new.register(with: identity(of: new.live), .all).epoch
        #expect(epoch.since > first.epoch.since && epoch.isClean)
    }

    @Test func isNotCleanAfterARestartFromAFile() throws {
        let port = freePort()
        let old = try ClusterStore(Self.listening(on: port))
        // With a replica, the file contains the history.
        let replica = try RedisProcess([
            "--replicaof", "127.0.0.1 \(port)",
        ])
        let before = try old.register(with: identity(of: old.live), .all)
        #expect(try old.live.call("WAIT", "1", "20000") == .integer(1))
        let history = try old.register(with: identity(of: old.live), .all)
        #expect(history.epoch == before.epoch)
        let known = try identity(of: old.live).replication
        try old.live.call("SAVE")
        let file = try Data(contentsOf: URL(filePath: old.redis.path("dump.rdb")))
        _ = try old.open()
        #expect(try old.live.call("WAIT", "1", "20000") == .integer(1))
        old.redis.stop()
        let restarted = try RedisProcess(files: ["dump.rdb": Array(file)])
        let new = try ClusterStore(restarted)
        let server = try identity(of: new.live)
        // It claims to go on with the history.
        #expect(server.formerReplication == known)
        let epoch = try new.register(with: server, .all).epoch
        #expect(epoch.since > before.epoch.since && !epoch.isClean)
        replica.stop()
    }
}
