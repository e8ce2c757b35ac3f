import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("Authorized connections, Pusher protocol §10.6", .timeLimit(.minutes(1)))
struct AuthorizationDeadlinesTests {
    /// An app that requires authorized connections, with a short timeout.
    private func strict(_ configuration: inout Configuration, seconds: Int = 2) {
        configuration.apps[0].features.authorizedConnections = true
        configuration.apps[0].features.authorizationTimeout = seconds
    }

    @Test(
        "A connection that neither signs in nor joins a private or presence channel is closed with 4009",
        arguments: [1, 3]
    )
    func closes(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            strict(&$0)
        } _: { broker in
            let (user, _) = try await broker.signedIn(as: "ann")
            let (member, _) = try await broker.joined("presence-x", as: "ann")
            let (reader, readerID) = try await broker.connected()
            try reader.send(subscribeMessage(to: "private-x", socketID: readerID))
            #expect(try await reader.nextText().contains("subscription_succeeded"))
            let start = ContinuousClock.now
            let (idle, _) = try await broker.connected()
            let (listener, _) = try await broker.connected()
            try await listener.subscribe(to: "news")
            let (liar, liarID) = try await broker.connected()
            try liar.send(subscribeMessage(to: "private-x", socketID: liarID, secret: "other"))
            #expect(try await liar.nextText().contains("subscription_error"))
            #expect(try await liar.nextText().contains("pusher:error"))
            for client in [idle, listener, liar] { try await client.expectEnd(4009) }
            #expect(ContinuousClock.now - start > .milliseconds(1_990))
            for client in [user, member, reader] { try await client.expectNothing() }
        }
    }

    @Test(
        "A connection counts towards the app's quota when it is authorized",
        arguments: [1, 3]
    )
    func quota(loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            strict(&$0, seconds: 30)
            $0.apps[0].limits.connectionsMax = 1
        } _: { broker in
            var clients: [(WebSocketWire, socketID: String)] = []
            for _ in 0..<4 { clients.append(try await broker.connected()) }
            try await clients[0].0.signIn(as: "ann", socketID: clients[0].socketID)
            try clients[1].0.send(
                signInMessage(#"{"id":"bob"}"#, socketID: clients[1].socketID)
            )
            try await clients[1].0.expectEnd(4004)
            try clients[2].0.send(
                subscribeMessage(to: "private-x", socketID: clients[2].socketID)
            )
            // The channel's home may have granted it before the quota was full.
            var text = try await clients[2].0.nextText()
            if text.contains("subscription_succeeded") { text = try await clients[2].0.nextText() }
            #expect(text.contains(#""code":4004"#))
            #expect(try await clients[2].0.next().closeCode == 4004)
            // Its place in the quota is released when it closes.
            try clients[0].0.send(opcode: 8, [0x03, 0xE8])
            #expect(try await clients[0].0.next().opcode == 8)
            for index in 0..<3 { _ = try await clients[index].0.wire.readToEnd() }
            try await eventually { await broker.server.connectionCount == 1 }
            try await clients[3].0.signIn(as: "dan", socketID: clients[3].socketID)
        }
    }

    @Test(
        "The option does not apply to earlier connections; when it is disabled, all stay"
    )
    func reload() async throws {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = 1
        configuration.apps[0].limits.connectionsMax = 3
        try await TestBroker.run {
            $0.apps = configuration.apps
        } _: { broker in
            let (old, _) = try await broker.connected()
            strict(&configuration)
            try await broker.server.reload(configuration)
            let (idle, _) = try await broker.connected()
            try await idle.expectEnd(4009)
            try await old.expectNothing()

            let (forgiven, _) = try await broker.connected()
            var second = AppConfiguration(id: "2", key: "second-key", secret: "s")
            second.features = configuration.apps[0].features
            configuration.apps[0].features.authorizedConnections = false
            configuration.apps.append(second)
            try await broker.server.reload(configuration)
            // Its deadline is before that of this one.
            let late = try await WebSocketWire(
                port: broker.port,
                target: "/app/second-key?protocol=7"
            )
            _ = try await late.socketID()
            try await late.expectEnd(4009)
            try await forgiven.expectNothing()
            // It counts now: two of three places are used.
            let (third, _) = try await broker.connected()
            try await broker.connect().expectEnd(4004)
            try await third.expectNothing()
        }
    }
}
