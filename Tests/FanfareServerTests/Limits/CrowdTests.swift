import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Crowds at the door, and in a hurry to leave") struct CrowdTests {
    @Test(
        "Half of the clients leave at once: those who come are let in, those who stay miss nothing"
    )
    func massDisconnect() async throws {
        try await TestBroker.run(loops: 2) { broker in
            var clients: [WebSocketWire] = []
            for _ in 0..<100 {
                let (client, _) = try await broker.connected()
                try await client.subscribe(to: "news")
                clients.append(client)
            }
            let stayed = Array(clients.suffix(50))
            clients = []
            for _ in 0..<20 {
                let (newcomer, _) = try await broker.connected()
                try await newcomer.subscribe(to: "news")
            }
            _ = try await broker.trigger("e", "1", on: "news")
            for client in stayed {
                #expect(try await client.nextText() == eventText("e", "news", data: "1"))
            }
            try await eventually { await broker.metric("fanfare_connections") == 50 }
        }
    }

    @Test("A crowd that connects and says nothing keeps nobody out who has something to say")
    func silentCrowd() async throws {
        try await TestBroker.run {
            $0.admission.handshakesMax = 16
        } _: { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "news")
            let crowd = try (0..<40).map { _ in try Wire(port: broker.port) }
            // The crowd is served in its order, a second for each sixteen at the most.
            let (newcomer, _) = try await broker.connected()
            try await newcomer.subscribe(to: "news")
            _ = try await broker.trigger("e", "1", on: "news")
            for client in [client, newcomer] {
                #expect(try await client.nextText() == eventText("e", "news", data: "1"))
            }
            #expect(await broker.hits(.handshakes) >= 25)
            #expect(crowd.count == 40)
        }
    }
}
