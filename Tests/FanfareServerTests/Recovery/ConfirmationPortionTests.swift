import Glibc
import Simulation
import Testing

@testable import FanfareServer

/// Clients with session tokens, of a broker that notes the marks of two of them in a turn, and asks one.
@Suite("Clients are asked to confirm in portions") struct ConfirmationPortionTests {
    private static let ping = #""pusher:ping""#

    private func clients(_ count: Int, of stepped: SteppedBroker) throws -> [SteppedPeer] {
        stepped.broker.knowsAllSessions()
        return try (0..<count).map { _ in
            let target = "/r/\(StockWire.token())\(WebSocketWire.target)"
            let client = try stepped.greetedClient(target: target).client
            stepped.subscribe(client, to: ["a"])
            return client
        }
    }

    /// Runs turns until a condition holds: a client is asked at most once a second of the system's clock.
    private func wait(
        for stepped: SteppedBroker,
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: () -> Bool
    ) {
        let deadline = ContinuousClock.now + .seconds(30)
        while !condition(), ContinuousClock.now < deadline {
            stepped.turn()
            usleep(500)
        }
        #expect(condition(), sourceLocation: sourceLocation)
    }

    private func trigger(_ data: String, on stepped: SteppedBroker) throws {
        let backend = try stepped.connect()
        let body = #"{"name":"e","channel":"a","data":"\#(data)"}"#
        backend.send(SignedRequest(path: "/apps/1/events", body: body).text)
        stepped.turn { backend.answer != nil }
    }

    @Test("Each is asked once behind what it got, and no timer is left", arguments: [1, 2])
    func rounds(shards: Int) throws {
        let stepped = try SteppedBroker(shards: shards)
        let clients = try clients(7, of: stepped)
        try trigger("1", on: stepped)
        wait(for: stepped) { clients.allSatisfy { $0.count(of: Self.ping) == 1 } }
        for client in clients {
            let texts = client.frames.map(\.text)
            let event = texts.firstIndex { $0.contains(#""data":"1""#) }
            let ping = texts.firstIndex { $0.contains(Self.ping) }
            #expect(try #require(event) < #require(ping))
            client.send(Frames.text(#"{"event":"pusher:pong","data":{}}"#))
        }
        wait(for: stepped) { stepped.broker.tableSizes()["confirmations"] == 0 }
        #expect(clients.allSatisfy { $0.count(of: Self.ping) == 1 })
    }

    @Test("What is sent while a round is under way is confirmed by the next one")
    func sentMeanwhile() throws {
        let stepped = try SteppedBroker()
        let clients = try clients(7, of: stepped)
        try trigger("1", on: stepped)
        // The first of them is asked, the others are not.
        wait(for: stepped) { clients.contains { $0.count(of: Self.ping) == 1 } }
        #expect(clients.contains { $0.count(of: Self.ping) == 0 })
        try trigger("2", on: stepped)
        for client in clients {
            wait(for: stepped) { client.count(of: Self.ping) > 0 }
            client.send(Frames.text(#"{"event":"pusher:pong","data":{}}"#))
        }
        wait(for: stepped) {
            // Who was asked before the second event is asked behind it.
            clients.allSatisfy { client in
                let texts = client.frames.map(\.text)
                let event = texts.lastIndex { $0.contains(#""data":"2""#) } ?? .max
                return texts.lastIndex { $0.contains(Self.ping) } ?? 0 > event
            }
        }
        for client in clients {
            client.send(Frames.text(#"{"event":"pusher:pong","data":{}}"#))
        }
        wait(for: stepped) { stepped.broker.tableSizes()["confirmations"] == 0 }
    }

    @Test("Who comes back is asked in the send of its replay", arguments: [1, 2])
    func behindGrant(shards: Int) throws {
        let stepped = try SteppedBroker(shards: shards)
        stepped.broker.knowsAllSessions()
        let target = "/r/\(StockWire.token())\(WebSocketWire.target)"
        let first = try stepped.greetedClient(target: target).client
        stepped.subscribe(first, to: ["a"])
        // Nothing was sent that has to be confirmed.
        #expect(first.count(of: Self.ping) == 0)
        try trigger("1", on: stepped)
        first.close()
        let second = try stepped.greetedClient(target: target).client
        stepped.subscribe(second, to: ["a"])
        let texts = second.frames.map(\.text)
        let event = try #require(texts.firstIndex { $0.contains(#""data":"1""#) })
        #expect(texts[(event + 1)...].contains { $0.contains(Self.ping) })
    }

    @Test("A client that leaves while a round is under way is not waited for")
    func leaving() throws {
        let stepped = try SteppedBroker()
        let clients = try clients(6, of: stepped)
        try trigger("1", on: stepped)
        wait(for: stepped) { clients.contains { $0.count(of: Self.ping) == 1 } }
        let (gone, rest) = (clients.prefix(3), clients.dropFirst(3))
        for client in gone { client.close() }
        wait(for: stepped) { rest.allSatisfy { $0.count(of: Self.ping) == 1 } }
        for client in rest { client.send(Frames.text(#"{"event":"pusher:pong","data":{}}"#)) }
        wait(for: stepped) { stepped.broker.tableSizes()["confirmations"] == 0 }
    }
}
