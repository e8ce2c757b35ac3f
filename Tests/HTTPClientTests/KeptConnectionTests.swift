import Net
import TestHTTPServer
import Testing

@testable import HTTPClient

@Suite("Persistent connections", .timeLimit(.minutes(1))) struct KeptConnectionTests {
    private static func server() throws -> ScriptedServer {
        try ScriptedServer { _, _ in .answer(response("ok")) }
    }

    private static let call = HTTPCall(method: "GET", target: "/")

    private func origin(_ server: ScriptedServer) throws -> HTTPOrigin {
        try HTTPOrigin(HTTPAddress(server.url))
    }

    private func eventually(_ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while !condition() {
            try #require(ContinuousClock.now < deadline, "the condition did not come true")
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    @Test("A client has separate connections to each server")
    func manyServers() async throws {
        let servers = try (0..<5).map { _ in try Self.server() }
        defer { for server in servers { server.stop() } }
        let client = try SocketClient(tls: nil)
        for _ in 0..<3 {
            for server in servers {
                #expect(try await client.send(Self.call, to: origin(server)).status == 200)
            }
        }
        #expect(servers.map(\.connectionCount) == [1, 1, 1, 1, 1])
        #expect(servers.map(\.received.count) == [3, 3, 3, 3, 3])
    }

    @Test("Are closed after the idle timeout")
    func idle() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let settings = ConnectionSettings(idleTimeout: .milliseconds(50))
        let client = try SocketClient(settings: settings, tls: nil)
        _ = try await client.send(Self.call, to: origin(server))
        try await eventually { server.endedCount == 1 }
        _ = try await client.send(Self.call, to: origin(server))
        #expect(server.connectionCount == 2)
    }

    @Test("Accept no request after their lifetime, however busy they are")
    func lifetime() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let settings = ConnectionSettings(lifetime: .zero)
        let client = try SocketClient(settings: settings, tls: nil)
        for _ in 0..<3 { _ = try await client.send(Self.call, to: origin(server)) }
        #expect(server.connectionCount == 3)
        try await eventually { server.endedCount == 3 }
    }

    @Test("Do not exceed the configured number") func count() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let client = try SocketClient(
            settings: ConnectionSettings(connectionCountMax: 2),
            tls: nil
        )
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask { try await client.send(Self.call, to: origin(server)).status }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(server.connectionCount <= 2)
    }

    @Test("A closed client cancels requests, and starts none") func closed() async throws {
        let server = try ScriptedServer { _, _ in .silence }
        defer { server.stop() }
        let client = try SocketClient(tls: nil)
        let origin = try origin(server)
        let task = Task { try await client.send(Self.call, to: origin) }
        try await eventually { server.received.count == 1 }
        await client.close()
        await #expect(throws: HTTPFailure.cancelled(mayHaveArrived: true)) { try await task.value }
        await #expect(throws: HTTPFailure.cancelled(mayHaveArrived: false)) {
            try await client.send(Self.call, to: origin)
        }
        await client.close()
    }

    @Test("A client without TLS refuses https") func withoutTLS() async throws {
        let client = try SocketClient(tls: nil)
        let origin = try HTTPOrigin(HTTPAddress("https://127.0.0.1:1"))
        let failure = await #expect(throws: HTTPFailure.self) {
            try await client.send(Self.call, to: origin)
        }
        #expect(failure?.description.contains("without TLS") == true)
    }

    @Test("Several addresses are tried in order") func severalAddresses() async throws {
        let server = try Self.server()
        defer { server.stop() }
        // The kernel never assigns port 1, so nothing listens there.
        let addresses = [1, server.port].compactMap { SocketAddress(ip: "127.0.0.1", port: $0) }
        let resolver = NameResolver { _ in addresses }
        let client = try SocketClient(tls: nil, resolver: resolver)
        let origin = try HTTPOrigin(HTTPAddress("http://backend.test"))
        #expect(try await client.send(Self.call, to: origin).status == 200)
        #expect(server.received.first?.head.contains("Host: backend.test") == true)
    }

    @Test("A change of a name's address is followed") func movedNames() async throws {
        let servers = [try Self.server(), try Self.server()]
        defer { for server in servers { server.stop() } }
        let ports = servers.map(\.port)
        let place = Place()
        let resolver = NameResolver(lifetime: .zero) { _ in
            [SocketAddress(ip: "127.0.0.1", port: ports[place.value])].compactMap { $0 }
        }
        let client = try SocketClient(
            settings: ConnectionSettings(lifetime: .zero),
            tls: nil,
            resolver: resolver
        )
        let origin = try HTTPOrigin(HTTPAddress("http://backend.test"))
        _ = try await client.send(Self.call, to: origin)
        place.value = 1
        _ = try await client.send(Self.call, to: origin)
        #expect(servers.map(\.received.count) == [1, 1])
    }

    @Test("A name whose address does not answer is resolved again at once")
    func failedAddresses() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let place = Place()
        let port = server.port
        let resolver = NameResolver { _ in
            [SocketAddress(ip: "127.0.0.1", port: place.value == 0 ? 1 : port)].compactMap { $0 }
        }
        let client = try SocketClient(tls: nil, resolver: resolver)
        let origin = try HTTPOrigin(HTTPAddress("http://backend.test"))
        await #expect(throws: HTTPFailure.self) { try await client.send(Self.call, to: origin) }
        place.value = 1
        #expect(try await client.send(Self.call, to: origin).status == 200)
    }
}
