import Net
import RESP
import RedisModel
import TestRedis
import Testing

@testable import Redis

@Suite("Majority of Sentinels") struct SentinelVotesTests {
    private let a = primary("10.0.0.1")
    private let b = primary("10.0.0.2")
    private static func primary(_ host: String, in epoch: Int64 = 0) -> SentinelPrimary {
        .init(location: .host(host, port: 1), configurationEpoch: epoch)
    }
    private func time(_ seconds: Int64) -> MonotonicTime {
        .init(nanoseconds: seconds * 1_000_000_000)
    }

    @Test(
        arguments: [
            ("", 3, nil), ("a", 3, nil), ("aa", 3, "a"), ("aab", 3, "a"), ("ab", 3, nil),
            ("abb", 3, "b"),
            ("a-b", 3, nil), ("a-a", 3, "a"), ("a", 1, "a"), ("a", 2, nil), ("aabb", 4, nil),
            ("aaab", 4, "a"),
        ] as [(String, Int, Character?)]
    )
    func needsMoreThanHalfOfAll(named: String, sentinelCount: Int, majority: Character?) {
        var votes = SentinelVotes(sentinelCount: sentinelCount)
        for (index, name) in named.enumerated() {
            votes.record(name == "-" ? nil : name == "a" ? a : b, of: index, askedAt: time(1))
        }
        let expected = majority.map { $0 == "a" ? a : b }
        #expect(votes.majority(at: time(2), within: .seconds(2)) == expected)
    }

    @Test("The epoch is the latest in which one of the majority names the server")
    func latestEpoch() {
        var votes = SentinelVotes(sentinelCount: 3)
        func majority() -> SentinelPrimary? {
            votes.majority(at: time(1), within: .seconds(2))
        }
        votes.record(Self.primary("10.0.0.1", in: 2), of: 0, askedAt: time(1))
        #expect(majority() == nil)
        votes.record(Self.primary("10.0.0.1", in: 4), of: 1, askedAt: time(1))
        votes.record(Self.primary("10.0.0.2", in: 9), of: 2, askedAt: time(1))
        #expect(majority() == Self.primary("10.0.0.1", in: 4))
        votes.record(nil, of: 1, askedAt: time(1))
        #expect(majority() == nil)
    }

    @Test func forgetsOldAnswers() {
        var votes = SentinelVotes(sentinelCount: 3)
        votes.record(a, of: 0, askedAt: time(10))
        votes.record(a, of: 1, askedAt: time(11))
        #expect(votes.majority(at: time(12), within: .seconds(2)) == a)
        #expect(votes.majority(at: time(13), within: .seconds(2)) == nil)
        votes.record(a, of: 2, askedAt: time(13))
        #expect(votes.majority(at: time(13), within: .seconds(2)) == a)
        votes.record(b, of: 2, askedAt: time(13))
        #expect(votes.majority(at: time(13), within: .seconds(2)) == nil)
    }
}

private final class Follower: SentinelWatchDelegate {
    var named: [SentinelPrimary?] = []
    func sentinels(_ watch: SentinelWatch, name primary: SentinelPrimary?) {
        named.append(primary)
    }
}

@Suite("Real Sentinels") struct SentinelWatchTests {
    private func primary(_ port: UInt16, in epoch: Int64 = 0) -> SentinelPrimary {
        .init(location: .host("127.0.0.1", port: port), configurationEpoch: epoch)
    }

    private func sentinel() throws -> RedisProcess {
        try RedisProcess(as: "redis-sentinel", files: ["sentinel.conf": []])
    }

    /// Another Sentinel tells one of a failover.
    private func announce(_ port: UInt16, in epoch: Int, to live: LiveRedis) throws {
        let message = ModelSentinelTests.hello(epoch, "main", port)
        try live.call(message[0], message[1], message[2])
    }

    @Test func areFollowedByMajority() throws {
        let sentinels = try (0..<3).map { _ in try sentinel() }
        // Their owners give the commands of an operator; no server is behind the addresses.
        let operators = try sentinels.map { sentinel in
            let live = try LiveRedis(
                sentinel,
                RedisSettings(
                    requiresPrimary: false,
                    openTimeout: .seconds(20),
                    answerTimeout: .seconds(20)
                )
            )
            live.run { !live.owner.events.isEmpty }
            #expect(live.owner.server?.mode == .sentinel)
            return live
        }
        func monitor(_ index: Int, _ port: Int) throws {
            _ = try operators[index].call("SENTINEL", "REMOVE", "main")
            let reply = try operators[index].call(
                "SENTINEL",
                "MONITOR",
                "main",
                "127.0.0.1",
                "\(port)",
                "2"
            )
            #expect(reply == .text(.simpleString, "OK"))
        }
        let driver = operators[0]
        let follower = Follower()
        var settings = SentinelWatch.Settings(
            name: "main",
            sentinels: try sentinels.map { try $0.url },
            interval: .milliseconds(20)
        )
        settings.connection.answerTimeout = .seconds(20)
        // Long enough for a busy machine.
        settings.answerLifetime = .seconds(5)
        let watch = SentinelWatch(settings, on: driver.reactor, delegate: follower)
        try monitor(0, 1)
        try monitor(1, 1)
        driver.run { watch.primary == primary(1) }
        // The two others name another one.
        try monitor(1, 2)
        driver.run { watch.primary == nil }
        try monitor(2, 2)
        driver.run { watch.primary == primary(2) }
        // A failover and back, between two questions.
        for index in [1, 2] { try announce(2, in: 2, to: operators[index]) }
        driver.run { watch.primary == primary(2, in: 2) }
        // One of the two is gone, and comes to count no more.
        sentinels[2].stop()
        driver.run { watch.primary == nil }
        #expect(follower.named == [primary(1), nil, primary(2), primary(2, in: 2), nil])
        watch.stop()
        driver.run { driver.reactor.streamCount == 1 }
    }

    @Test func areFollowedAtOnceWhenTheyAnnounceAnotherPrimary() throws {
        let sentinels = try (0..<3).map { _ in try sentinel() }
        let operators = try sentinels.map { sentinel in
            var settings = LiveRedis.patience
            settings.requiresPrimary = false
            let live = try LiveRedis(sentinel, settings)
            live.run { !live.owner.events.isEmpty }
            try live.call("SENTINEL", "MONITOR", "main", "127.0.0.1", "1", "2")
            return live
        }
        let driver = operators[0]
        let follower = Follower()
        var settings = SentinelWatch.Settings(
            name: "main",
            sentinels: try sentinels.map { try $0.url },
            // Longer than the test waits: only an announcement is a reason to ask again.
            interval: .seconds(600),
            answerLifetime: .seconds(600)
        )
        settings.connection.answerTimeout = .seconds(20)
        let watch = SentinelWatch(settings, on: driver.reactor, delegate: follower)
        driver.run { watch.primary == primary(1) }
        // A Sentinel is subscribed to before it is asked, so an answer from before is followed by the announcement.
        for index in [1, 2] { try announce(2, in: 1, to: operators[index]) }
        driver.run { watch.primary == primary(2, in: 1) }
        // One that lies behind does not lead back. Between the announcements the other two are a majority still.
        let earlier = follower.named.dropLast()
        #expect(follower.named.last == primary(2, in: 1), "\(follower.named)")
        #expect(
            earlier.first == primary(1) && earlier.allSatisfy { $0 == nil || $0 == primary(1) },
            "\(follower.named)"
        )
        watch.stop()
    }
}

@Suite("Scripted Sentinel") struct ScriptedSentinelTests {
    /// A model behind a connection, which executes as many commands as the test asks for.
    private final class Sentinel {
        private var model = ModelSentinel(run: String(repeating: "a", count: 40), startedAt: 0)
        private let link: Int
        private let redis: ScriptedRedis
        /// The commands that were received and not executed.
        private(set) var commands: [String] = []

        init(_ redis: ScriptedRedis) {
            self.redis = redis
            model.monitor("main", .init(host: "10.0.0.1", port: 6_379))
            link = model.connect()
        }

        /// Reads what the watch has sent.
        func receive() { commands += redis.commands() }

        func execute(_ count: Int) {
            for command in commands.prefix(count) {
                let words = command.split(separator: " ").map { ByteString(String($0)) }
                send(model.execute(words, of: link, at: 0))
            }
            commands.removeFirst(min(count, commands.count))
        }

        /// Answers until the watch asks nothing more.
        func executeAll() {
            receive()
            while !commands.isEmpty {
                execute(.max)
                receive()
            }
        }

        func switchPrimary(to host: String, in epoch: Int) {
            send(model.switchPrimary("main", to: .init(host: host, port: 6_379), epoch: epoch))
        }

        private func send(_ outputs: [ModelSentinel.Output]) {
            var bytes: [UInt8] = []
            for output in outputs { output.value.encode(to: &bytes) }
            redis.send(bytes)
        }
    }

    @Test("An announcement during a question is followed at once", arguments: 0...2)
    func announcementDuringQuestion(executedBefore count: Int) throws {
        let driver = try ScriptedRedis()
        let follower = Follower()
        var servers: [ScriptedRedis] = []
        let settings = SentinelWatch.Settings(
            name: "main",
            sentinels: [try RedisURL("redis://10.0.0.9:26379")]
        )
        let watch = SentinelWatch(settings, on: driver.reactor, delegate: follower) { _, peer in
            do {
                servers.append(
                    try ScriptedRedis(settings.connection, beside: driver, delegate: peer)
                )
            } catch {
                preconditionFailure("\(error)")
            }
            return servers[servers.count - 1].connection
        }
        defer { watch.stop() }
        let sentinel = Sentinel(try #require(servers.first))
        sentinel.executeAll()
        #expect(watch.primary == primary("10.0.0.1", in: 0))
        // The reactor's timers are some milliseconds coarse.
        driver.wait(settings.interval + .milliseconds(20))
        sentinel.receive()
        try #require(sentinel.commands.count == 2)
        sentinel.execute(count)
        sentinel.switchPrimary(to: "10.0.0.2", in: 1)
        sentinel.executeAll()
        // The former primary's address does not go with the epoch of the announced one.
        #expect(follower.named == [primary("10.0.0.1", in: 0), primary("10.0.0.2", in: 1)])
    }

    private func primary(_ host: String, in epoch: Int64) -> SentinelPrimary {
        .init(location: .host(host, port: 6_379), configurationEpoch: epoch)
    }
}
