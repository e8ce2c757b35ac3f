import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Crowds that connect and disconnect") struct CrowdTests {
    @Test(
        "Half of the clients leave at once: others are admitted and served meanwhile"
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
                let (newClient, _) = try await broker.connected()
                try await newClient.subscribe(to: "news")
            }
            _ = try await broker.trigger("e", "1", on: "news")
            for client in stayed {
                #expect(try await client.nextText() == eventText("e", "news", data: "1"))
            }
            try await eventually { await broker.metric("fanfare_connections") == 50 }
        }
    }

    @Test("A crowd of idle connections does not keep clients out")
    func silentCrowd() async throws {
        try await TestBroker.run {
            $0.admission.handshakesMax = 16
        } _: { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "news")
            let crowd = try (0..<40).map { _ in try Wire(port: broker.port) }
            // The crowd is served in order, at most a second for each sixteen.
            let (newClient, _) = try await broker.connected()
            try await newClient.subscribe(to: "news")
            _ = try await broker.trigger("e", "1", on: "news")
            for client in [client, newClient] {
                #expect(try await client.nextText() == eventText("e", "news", data: "1"))
            }
            #expect(await broker.hits(.handshakes) >= 25)
            #expect(crowd.count == 40)
        }
    }
}
