import BrokerConfiguration
import FanfareServer
import Foundation
import Logging
import Net
import Testing

@testable import FanfareClient

@Suite("With the broker", .timeLimit(.minutes(1))) struct BrokerTests {
    private static let silence = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func start(
        _ change: (inout Configuration) -> Void = { _ in }
    ) async throws -> (BrokerServer, BrokerServer.Addresses) {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = 2
        change(&configuration)
        let server = try BrokerServer(configuration: configuration, log: Self.silence)
        return (server, try await server.start())
    }

    @Test func connectsAndSubscribes() async throws {
        let (server, addresses) = try await start { $0.activityTimeout = 7 }
        let port = try #require(addresses.plain?.port)
        let client = Fanfare(
            key: "app-key",
            endpoint: .plain(host: "127.0.0.1", port: port)
        )
        let channel = client.channel("a")
        var events = channel.subscription().deliveries().makeAsyncIterator()
        client.connect()
        try await client.waitUntilConnected()
        try await channel.waitUntilSubscribed()
        #expect(try await events.event()?.name == "pusher:subscription_succeeded")
        #expect(client.socketID?.contains(".") == true)
        #expect(await server.connectionCount == 1)
        client.disconnect()
        while await server.connectionCount > 0 { await Task.yield() }
        await server.stop(within: .seconds(1))
    }

    @Test func doesNotReconnectWithAWrongKey() async throws {
        let (server, addresses) = try await start()
        let port = try #require(addresses.plain?.port)
        let client = Fanfare(
            key: "no-key",
            endpoint: .plain(host: "127.0.0.1", port: port)
        )
        client.connect()
        await #expect(throws: FanfareError.self) { try await client.waitUntilConnected() }
        guard case .failed(let error) = client.status else {
            Issue.record("\(client.status)")
            return
        }
        #expect(error.code == .refused && error.status == 4001)
        await server.stop(within: .seconds(1))
    }

    @Test func reconnectsAtOnceWhenTheBrokerStops() async throws {
        let (server, addresses) = try await start()
        let port = try #require(addresses.plain?.port)
        var options = ClientOptions()
        options.reconnection.backoff = Backoff(
            floor: .zero,
            window: .milliseconds(10),
            cap: .milliseconds(20)
        )
        let client = Fanfare(
            key: "app-key",
            endpoint: .plain(host: "127.0.0.1", port: port),
            options: options
        )
        let channel = client.subscribe("a")
        client.connect()
        try await channel.waitUntilSubscribed()
        var statuses = client.statuses().makeAsyncIterator()
        #expect(await statuses.next()?.isConnected == true)
        await server.stop(within: .seconds(5))
        #expect(await statuses.next() == .connecting(attempt: 2))
        // The client reconnects to the new broker on the same port.
        let (successor, _) = try await start { $0.port = port }
        try await channel.waitUntilSubscribed()
        client.disconnect()
        await successor.stop(within: .seconds(1))
    }

    @Test func connectsOverTLS() async throws {
        let (certificate, key) = try DevelopmentCertificate.make(hosts: ["localhost"])
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("fanfare-client-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["certificate.pem", "key.pem"].map { folder.appendingPathComponent($0) }
        try Data(certificate).write(to: files[0])
        try Data(key).write(to: files[1])
        let (server, addresses) = try await start {
            $0.tlsPort = 0
            $0.certificates = [
                CertificateFiles(certificate: files[0].path, key: files[1].path)
            ]
        }
        var options = ClientOptions()
        options.network.trust = .file(files[0].path)
        let client = Fanfare(
            key: "app-key",
            endpoint: .secure(host: "localhost", port: try #require(addresses.tls?.port)),
            options: options
        )
        let channel = client.subscribe("a")
        client.connect()
        try await channel.waitUntilSubscribed()
        client.disconnect()
        await server.stop(within: .seconds(1))
    }
}
