import Net
import RESP
import Redis
import TestPorts
import TestRedis
import Testing

@Suite("Acknowledgement by replicas") struct ReplicaAcknowledgementTests {
    typealias Round = ReplicaAcknowledgements.Round

    /// A primary, the connection that publishes, and the acknowledgements beside it.
    private final class Publisher: ReplicaAcknowledgementsDelegate {
        enum Event: Equatable {
            case confirmed(UInt64)
            case missed(UInt64, replicaCount: Int, RedisError.Code?)
            case closed(RedisFault, since: UInt64)
        }

        let redis: RedisProcess
        let live: LiveRedis
        private(set) var events: [Event] = []
        private(set) var acknowledgements: ReplicaAcknowledgements?

        init(_ redis: RedisProcess) throws {
            self.redis = redis
            live = try LiveRedis.opened(redis)
        }

        func connect(
            of server: RedisServer? = nil,
            replicaCount: Int = 1,
            timeout: Duration = .seconds(10)
        ) throws {
            acknowledgements = .connect(
                to: try redis.url,
                settings: .init(
                    connection: LiveRedis.patience,
                    counter: ClusterStore.keys.counter,
                    replicaCount: replicaCount,
                    timeout: timeout
                ),
                of: try server ?? #require(live.owner.server),
                on: live.reactor,
                delegate: self
            )
        }

        func request() throws -> UInt64 {
            try #require(acknowledgements).request().number
        }

        /// Waits for events, and removes them.
        func next(_ count: Int = 1) -> [Event] {
            live.run { events.count >= count }
            defer { events = [] }
            return events
        }

        func acknowledgements(_: ReplicaAcknowledgements, confirm round: Round) {
            events.append(.confirmed(round.number))
        }

        func acknowledgements(
            _: ReplicaAcknowledgements,
            miss round: Round,
            replicaCount: Int,
            refusal: RedisError?
        ) {
            events.append(.missed(round.number, replicaCount: replicaCount, refusal?.code))
        }

        func acknowledgements(
            _: ReplicaAcknowledgements,
            closed fault: RedisFault,
            since round: Round
        ) {
            events.append(.closed(fault, since: round.number))
        }
    }

    private func replica(of port: UInt16) throws -> LiveRedis {
        let process = try RedisProcess([
            "--replicaof", "127.0.0.1 \(port)", "--enable-debug-command", "yes",
        ])
        var settings = LiveRedis.patience
        settings.requiresPrimary = false
        let live = try LiveRedis(process, settings)
        live.run { !live.owner.events.isEmpty }
        return live
    }

    private func primary() throws -> (Publisher, port: UInt16) {
        let port = freePort()
        let redis = try RedisProcess([
            "--port", "\(port)", "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0",
        ])
        return (try Publisher(redis), port)
    }

    @Test func confirmsWhatTheReplicaHas() throws {
        let (publisher, port) = try primary()
        let replica = try replica(of: port)
        try publisher.connect()
        // Requested before the connection is open, and before the replica has the first data.
        for number in 1...UInt64(200) {
            try publisher.live.call("SET", "n", "\(number)")
            #expect(try publisher.request() == number)
            #expect(publisher.next() == [.confirmed(number)])
            #expect(try replica.call("GET", "n") == .bulk("\(number)"))
        }
    }

    @Test func sharesTheNextRoundAmongRequestsDuringOne() throws {
        let (publisher, port) = try primary()
        let replica = try replica(of: port)
        try publisher.connect()
        _ = try publisher.request()
        #expect(publisher.next() == [.confirmed(1)])
        try replica.connection.call("DEBUG", "SLEEP", "0.3")
        replica.reactor.flush()
        try publisher.live.call("INCR", "n")
        #expect(try publisher.request() == 2)
        // The publishing connection does not wait meanwhile.
        for _ in 0..<3 {
            try publisher.live.call("INCR", "n")
            #expect(try publisher.request() == 3)
        }
        #expect(publisher.next(2) == [.confirmed(2), .confirmed(3)])
        #expect(try replica.call("GET", "n") == .bulk("4"))
    }

    @Test func missesARoundWithoutEnoughReplicas() throws {
        let (publisher, port) = try primary()
        try publisher.connect(replicaCount: 2, timeout: .milliseconds(50))
        #expect(try publisher.request() == 1)
        #expect(publisher.next() == [.missed(1, replicaCount: 0, nil)])
        // The first replica gives the history another ID; the process is the same.
        let first = try replica(of: port)
        publisher.live.run {
            _ = try? publisher.request()
            guard case .missed(_, 1, nil) = publisher.next().last else { return false }
            return true
        }
        let second = try replica(of: port)
        var last: UInt64 = 0
        publisher.live.run {
            last = (try? publisher.request()) ?? 0
            return publisher.next() == [.confirmed(last)]
        }
        #expect(last > 2)
        _ = (first, second)
    }

    @Test func missesARoundWhoseWriteIsRefused() throws {
        let (publisher, port) = try primary()
        let replica = try replica(of: port)
        try publisher.connect()
        _ = try publisher.request()
        #expect(publisher.next() == [.confirmed(1)])
        try publisher.live.call("CONFIG", "SET", "maxmemory", "1")
        _ = try publisher.request()
        #expect(publisher.next() == [.missed(2, replicaCount: 1, .outOfMemory)])
        try publisher.live.call("CONFIG", "SET", "maxmemory", "0")
        _ = try publisher.request()
        #expect(publisher.next() == [.confirmed(3)])
        _ = replica
    }

    @Test func endsWhenThePrimaryIsDemoted() throws {
        let (publisher, port) = try primary()
        let replica = try replica(of: port)
        try publisher.connect()
        _ = try publisher.request()
        #expect(publisher.next() == [.confirmed(1)])
        try publisher.live.call("REPLICAOF", "127.0.0.1", "1")
        _ = try publisher.request()
        let events = publisher.next()
        guard case .closed(.refused(let error), since: 2) = events.last else {
            Issue.record("\(events)")
            return
        }
        #expect(error.code == .readOnly)
        #expect(throws: RedisCallError.notOpen) { try publisher.request() }
        _ = replica
    }

    @Test("A primary that has been a replica in the meantime confirms nothing of before")
    func endsAfterADetour() throws {
        let (publisher, port) = try primary()
        let (other, otherPort) = try primary()
        let replica = try replica(of: port)
        try publisher.connect()
        _ = try publisher.request()
        #expect(publisher.next() == [.confirmed(1)])
        try publisher.live.call("SET", "published", "1")
        // Before the confirmation is requested, as when this process was stopped for a while.
        try publisher.live.call("REPLICAOF", "127.0.0.1", "\(otherPort)")
        publisher.live.run {
            (try? publisher.live.call("GET", "published")) == .null
        }
        try publisher.live.call("REPLICAOF", "NO", "ONE")
        _ = try publisher.request()
        #expect(publisher.next() == [.closed(.anotherServer, since: 2)])
        _ = (replica, other)
    }

    @Test func refusesAnotherProcess() throws {
        let (publisher, _) = try primary()
        let (other, _) = try primary()
        try publisher.connect(of: other.live.owner.server)
        _ = try publisher.request()
        #expect(publisher.next() == [.closed(.anotherServer, since: 1)])
        // Nor one of which it is unknown whether it is the same.
        var server = try #require(publisher.live.owner.server)
        server.runID = nil
        try publisher.connect(of: server)
        #expect(publisher.next() == [.closed(.anotherServer, since: 1)])
    }

    @Test func endsWithTheServerAndWithItsOwner() throws {
        let (publisher, _) = try primary()
        try publisher.connect()
        _ = try publisher.request()
        try #require(publisher.acknowledgements).close()
        #expect(publisher.next() == [.closed(.closedByOwner, since: 1)])
        try publisher.connect(timeout: .milliseconds(1))
        _ = try publisher.request()
        #expect(publisher.next() == [.missed(1, replicaCount: 0, nil)])
        publisher.redis.stop()
        #expect(publisher.next() == [.closed(.closedByServer, since: 2)])
    }
}
