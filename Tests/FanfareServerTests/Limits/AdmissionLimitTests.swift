import Broker
import BrokerConfiguration
import HTTPServer
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Limits of admission") struct AdmissionLimitTests {
    @Test func connectionsOfTheProcess() async throws {
        try await TestBroker.run {
            $0.connectionsMax = 1
        } _: { broker in
            var client: WebSocketWire? = try await broker.admitted()
            #expect(client != nil)
            try await broker.expectRefusal(4100)
            #expect(await broker.hits(.connections) == 1)
            client = nil
            try await eventually { try await broker.admitted() != nil }
        }
    }

    @Test(arguments: [1, 2]) func connectionsOfAnAddress(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.admission.trustedProxies = []
            $0.admission.connectionsPerAddressMax = 2
        } _: { broker in
            var first: WebSocketWire? = try await broker.admitted()
            let second = try await broker.admitted()
            #expect(first != nil && second != nil)
            // The field of an untrusted peer is ignored.
            try await broker.expectRefusal(4100, fields: "X-Forwarded-For: 192.0.2.1\r\n")
            #expect(await broker.hits(.connectionsPerAddress) == 1)
            // A closed connection makes a place free.
            first = nil
            try await eventually { try await broker.admitted() != nil }
        }
    }

    @Test("The default limit per address keeps half of the connections for others")
    func shareOfAnAddress() async throws {
        try await TestBroker.run {
            $0.connectionsMax = 220
        } _: { broker in
            let ann = "X-Forwarded-For: 192.0.2.1\r\n"
            // The first half is not limited per address; then an address may have a hundred, which is more than a
            // quarter.
            var clients: [WebSocketWire] = []
            while clients.count < 300, let client = try await broker.admitted(fields: ann) {
                clients.append(client)
            }
            #expect(clients.count == 210)
            #expect(await broker.hits(.connectionsPerAddress) == 1)
            let bob = try await broker.admitted(fields: "X-Forwarded-For: 192.0.2.2\r\n")
            #expect(bob != nil)
            clients.removeLast()
            try await eventually { try await broker.admitted(fields: ann) != nil }
        }
    }

    @Test func connectionsOfAClientBehindATrustedProxy() async throws {
        try await TestBroker.run {
            $0.admission.connectionsPerAddressMax = 1
        } _: { broker in
            let ann = "X-Forwarded-For: 198.51.100.7, 192.0.2.1\r\n"
            let bob = "X-Forwarded-For: 192.0.2.2\r\n"
            let clients = [
                try await broker.admitted(fields: ann), try await broker.admitted(fields: bob),
                // A proxy without the field is not counted as a client.
                try await broker.admitted(), try await broker.admitted(),
            ]
            #expect(clients.allSatisfy { $0 != nil })
            try await broker.expectRefusal(4100, fields: ann)
            try await broker.expectRefusal(4100, fields: bob)
            #expect(await broker.hits(.connectionsPerAddress) == 2)
        }
    }

    @Test func newConnectionsOfASecond() async throws {
        try await TestBroker.run {
            $0.admission.newConnectionsPerSecondMax = 1
        } _: { broker in
            #expect(try await broker.admitted() != nil)
            try await eventually { try await broker.admittedCount(of: 5) < 5 }
            #expect(await broker.hits(.newConnections) > 0)
            try await eventually { try await broker.admitted() != nil }
        }
    }

    @Test func newConnectionsOfAnAddress() async throws {
        try await TestBroker.run {
            $0.admission.newConnectionsPerAddressPerSecondMax = 1
        } _: { broker in
            let ann = "X-Forwarded-For: 192.0.2.1\r\n"
            #expect(try await broker.admitted(fields: ann) != nil)
            try await eventually { try await broker.admittedCount(of: 5, fields: ann) < 5 }
            #expect(await broker.hits(.newConnectionsPerAddress) > 0)
            #expect(try await broker.admitted(fields: "X-Forwarded-For: 192.0.2.2\r\n") != nil)
            try await eventually { try await broker.admitted(fields: ann) != nil }
        }
    }

    @Test("Idle connections are closed for new ones")
    func handshakes() async throws {
        try await TestBroker.run {
            $0.admission.handshakesMax = 4
            // So that only the limit ends an incomplete request, however busy the machine is.
            $0.httpTimeouts.head = .seconds(60)
        } _: { broker in
            let (client, _) = try await broker.connected()
            let silent = try (0..<3).map { _ in try Wire(port: broker.port) }
            let asking = try Wire(port: broker.port)
            try asking.send("GET /health HT")
            // A new connection waits for at most a second. Connections that were idle for less are then closed for
            // later ones.
            let (newClient, _) = try await broker.connected()
            let others = try (0..<4).map { _ in try Wire(port: broker.port) }
            let answer = try await asking.answer()
            #expect(answer.status == 503)
            #expect(answer.head.lowercased().contains("\r\nretry-after: 1\r\n"))
            for wire in silent { #expect(try await wire.readToEnd().isEmpty) }
            #expect(await broker.hits(.handshakes) >= 4)
            #expect(others.count == 4)
            for client in [client, newClient] { try await client.subscribe(to: "news") }
        }
    }

    @Test("Refused clients that do not close count towards handshakes_max")
    func refusedClients() async throws {
        try await TestBroker.run {
            $0.admission.handshakesMax = 8
        } _: { broker in
            let (client, _) = try await broker.connected()
            var refused: [WebSocketWire] = []
            for _ in 0..<60 {
                let target = "/app/unknown-key?protocol=7"
                let wire = try await WebSocketWire(port: broker.port, target: target)
                try await wire.expectEnd(4001)
                refused.append(wire)
            }
            #expect(await broker.server.streamCount <= 1 + 8)
            let (newClient, _) = try await broker.connected()
            for client in [client, newClient] { try await client.subscribe(to: "news") }
            // And are closed soon.
            try await eventually { await broker.server.streamCount == 2 }
            #expect(refused.count == 60)
        }
    }

    @Test func connectionsOfAnApp() async throws {
        try await TestBroker.run {
            $0.apps[0].limits.connectionsMax = 1
        } _: { broker in
            let client = try await broker.admitted()
            try await broker.expectRefusal(4004)
            #expect(await broker.hits(.appConnections) == 1)
            #expect(await broker.metric(#"fanfare_app_connections{app="1"}"#) == 1)
            #expect(client != nil)
        }
    }

    @Test func timeUntilAuthorized() async throws {
        try await TestBroker.run {
            $0.apps[0].features.authorizedConnections = true
            $0.apps[0].features.authorizationTimeout = 1
        } _: { broker in
            let (client, _) = try await broker.connected()
            try await client.expectEnd(4009)
            #expect(await broker.hits(.authorizationTime) == 1)
        }
    }
}
