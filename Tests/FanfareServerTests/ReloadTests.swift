import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer
@testable import Shard

extension TestBroker {
    /// The configuration of this broker with other apps.
    fileprivate func configuration(_ apps: [AppConfiguration]) -> Configuration {
        var configuration = Configuration.development
        configuration.port = 0
        configuration.loops = 2
        configuration.apps = apps
        return configuration
    }

    /// Replaces the apps while the broker runs.
    @discardableResult
    fileprivate func reload(_ apps: [AppConfiguration]) async throws -> BrokerServer.Reload {
        try await server.reload(configuration(apps))
    }

    /// Connects by a key, and reads the greeting.
    fileprivate func connected(key: String) async throws -> (WebSocketWire, socketID: String) {
        let client = try await WebSocketWire(port: port, target: "/app/\(key)?protocol=7")
        return (client, try await client.socketID())
    }

    /// Connects by a key and returns the code that the client is closed with.
    fileprivate func refusal(key: String) async throws -> Int? {
        let client = try await WebSocketWire(port: port, target: "/app/\(key)?protocol=7")
        _ = try await client.nextText()
        return try await client.next().closeCode
    }
}

extension WebSocketWire {
    /// Expects an error with a code, and to be closed with it.
    fileprivate func expectClose(
        _ code: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let error = try await nextText()
        #expect(error.contains(#""code":\#(code),"#), sourceLocation: sourceLocation)
        #expect(try await next().closeCode == code, sourceLocation: sourceLocation)
    }
}

private let second = AppConfiguration(id: "2", key: "second-key", secret: "second-secret")

@Suite("Reloading the configuration") struct ReloadTests {
    @Test("A client of a kept app gets every event across ten reloads", arguments: [1, 3])
    func keepsClients(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "news")
            let count = 400
            let publishing = Task {
                let wire = try Wire(port: broker.port)
                for number in 0..<count {
                    let body = #"{"name":"e","channels":["news"],"data":"\#(number)"}"#
                    let answer = try await wire.ask(
                        SignedRequest(path: "/apps/1/events", body: body)
                    )
                    #expect(answer.status == 200)
                }
            }
            for round in 0..<10 {
                var kept = AppConfiguration.development
                kept.limits.subscriptionsMax = 100 + round
                try await broker.reload(round % 2 == 0 ? [kept, second] : [kept])
            }
            try await publishing.value
            for number in 0..<count {
                #expect(
                    try await client.nextText()
                        == #"{"event":"e","channel":"news","data":"\#(number)"}"#
                )
            }
            // The next configuration is the last of the ten.
            try await client.subscribe(to: "sport")
        }
    }

    @Test("A new app works, and a removed one is gone: 4001 for its clients, 404 for its backends")
    func appsComeAndGo() async throws {
        try await TestBroker.run(loops: 2) { broker in
            let (kept, _) = try await broker.connected()
            #expect(try await broker.refusal(key: "second-key") == 4001)
            var reload = try await broker.reload([.development, second])
            #expect(reload.apps.added == ["2"])
            #expect(reload.apps.changed == [] && reload.apps.removed == [])

            var clients: [WebSocketWire] = []
            for _ in 0..<5 {
                let (client, _) = try await broker.connected(key: "second-key")
                try await client.subscribe(to: "news")
                clients.append(client)
            }
            let request = SignedRequest(
                path: "/apps/2/events",
                body: #"{"name":"e","channels":["news"],"data":"1"}"#,
                key: "second-key",
                secret: "second-secret"
            )
            #expect(try await Wire(port: broker.port).ask(request).status == 200)
            for client in clients { #expect(try await client.nextText().contains("news")) }

            #expect(await broker.server.metrics.contains(#"{app="2"}"#))
            reload = try await broker.reload([.development])
            #expect(await broker.server.metrics.contains(#"{app="1"}"#))
            #expect(reload.apps.removed == ["2"])
            #expect(await !broker.server.metrics.contains(#"{app="2"}"#))
            for client in clients { try await client.expectClose(4001) }
            #expect(try await Wire(port: broker.port).ask(request).status == 404)
            #expect(try await broker.refusal(key: "second-key") == 4001)
            try await kept.expectNothing()
        }
    }

    @Test("An app that is switched off: 4003 for its clients, 403 for its backends")
    func appsAreSwitchedOff() async throws {
        try await TestBroker.run(loops: 2) { broker in
            try await broker.reload([.development, second])
            let (kept, _) = try await broker.connected()
            let (client, _) = try await broker.connected(key: "second-key")
            var disabled = second
            disabled.isEnabled = false
            let reload = try await broker.reload([.development, disabled])
            #expect(reload.apps.changed == ["2"])
            try await client.expectClose(4003)
            #expect(try await broker.refusal(key: "second-key") == 4003)
            let request = SignedRequest(
                method: "GET",
                path: "/apps/2/channels",
                key: "second-key",
                secret: "second-secret"
            )
            #expect(try await Wire(port: broker.port).ask(request).status == 403)
            try await broker.reload([.development, second])
            _ = try await broker.connected(key: "second-key")
            try await kept.expectNothing()
        }
    }

    @Test("All clients of a removed app are closed, however many they are")
    func closesInPortions() async throws {
        try await TestBroker.run(loops: 2) { broker in
            try await broker.reload([.development, second])
            var clients: [WebSocketWire] = []
            for _ in 0..<600 {
                clients.append(
                    try await WebSocketWire(port: broker.port, target: "/app/second-key?protocol=7")
                )
            }
            try await eventually { await broker.server.connectionCount == 600 }
            try await broker.reload([.development])
            for client in clients {
                _ = try await client.socketID()
                try await client.expectClose(4001)
            }
            clients = []
            try await eventually { await broker.server.connectionCount == 0 }
        }
    }

    @Test("A configuration with a fault changes nothing")
    func faultsChangeNothing() async throws {
        try await TestBroker.run(loops: 2) { broker in
            let (client, _) = try await broker.connected()
            var twin = second
            twin.id = "1"
            let error = await #expect(throws: ConfigurationError.self) {
                try await broker.reload([twin, second])
            }
            #expect(
                error?.faults.map(\.description) == [
                    "apps.1.key is second-key, as that of apps.0: each app needs its own"
                ]
            )
            await #expect(throws: ConfigurationError.self) { try await broker.reload([]) }
            #expect(try await broker.refusal(key: "second-key") == 4001)
            try await client.subscribe(to: "news")
            #expect(try await broker.trigger("e", "1", on: "news").status == 200)
            #expect(try await client.nextText().contains(#""event":"e""#))
        }
    }

    @Test("New secrets of an app apply to its connections")
    func secretsAreReplaced() async throws {
        try await TestBroker.run(loops: 2) { broker in
            let (client, socketID) = try await broker.connected()
            func subscribe(_ channel: String, _ secret: String) async throws -> Bool {
                try client.send(
                    subscribeMessage(to: channel, socketID: socketID, secret: secret)
                )
                if try await client.nextText().contains("subscription_succeeded") { return true }
                #expect(try await client.nextText().contains("Invalid signature"))
                return false
            }
            #expect(try await !subscribe("private-1", "new-secret"))
            var app = AppConfiguration.development
            app.credentials = [.init(secret: "new-secret")]
            try await broker.reload([app])
            #expect(try await subscribe("private-1", "new-secret"))
            #expect(try await subscribe("private-2", "app-secret"))
            app.secret = "new-secret"
            app.credentials = []
            try await broker.reload([app])
            #expect(try await subscribe("private-3", "new-secret"))
            #expect(try await !subscribe("private-4", "app-secret"))
        }
    }

    @Test("The connection count stays, and a lower quota closes no connection")
    func quotas() async throws {
        try await TestBroker.run(loops: 2) { broker in
            var app = AppConfiguration.development
            var clients: [WebSocketWire] = []
            for _ in 0..<3 { clients.append(try await broker.connected().0) }
            app.limits.connectionsMax = 2
            try await broker.reload([app])
            for client in clients { try await client.expectNothing() }
            #expect(try await broker.refusal(key: "app-key") == 4004)
            app.limits.connectionsMax = 4
            try await broker.reload([app])
            clients.append(try await broker.connected().0)
            #expect(try await broker.refusal(key: "app-key") == 4004)
            // A place is free only when a connection has closed.
            let leaving = clients.removeFirst()
            try leaving.send(opcode: 8, [])
            _ = try await leaving.wire.readToEnd()
            try await eventually { await broker.server.connectionCount == 3 }
            clients.append(try await broker.connected().0)
            #expect(try await broker.refusal(key: "app-key") == 4004)
        }
    }

    @Test("An app that is added again has the right connection count")
    func quotasOfAppsThatComeBack() async throws {
        try await TestBroker.run(loops: 2) { broker in
            var limited = second
            limited.limits.connectionsMax = 1
            for _ in 0..<3 {
                try await broker.reload([.development, limited])
                try await beClosed(by: broker)
                try await eventually { await broker.server.connectionCount == 0 }
            }
        }
    }

    /// Connects to the second app, whose quota is one, and waits for the removal.
    private func beClosed(by broker: TestBroker) async throws {
        let (client, _) = try await broker.connected(key: "second-key")
        #expect(try await broker.refusal(key: "second-key") == 4004)
        try await broker.reload([.development])
        try await client.expectClose(4001)
    }

    @Test("Keys that need a restart are reported, and do not change")
    func restartKeys() async throws {
        try await TestBroker.run { broker in
            var configuration = broker.configuration([.development])
            configuration.loops = 7
            configuration.activityTimeout = 50
            let reload = try await broker.server.reload(configuration)
            #expect(reload.restartKeys == ["loops", "clients.activity_timeout"])
            let greeting = try await broker.connect().nextText()
            #expect(greeting.contains(#"\"activity_timeout\":120"#))
        }
    }
}

@Suite("The registry of apps") struct AppRegistryTests {
    private func app(_ registry: AppRegistry, _ id: String) -> App? { registry.apps[AppID(id)] }

    @Test func anAppThatIsConfiguredAsBeforeKeepsItsObject() {
        var limited = second
        limited.limits.requestRates.all = Rate(perSecond: 1)
        let first = AppRegistry([.development, limited])
        var changed = AppConfiguration.development
        changed.limits.membersMax = 7
        let next = first.succeeded(by: [limited, changed])
        #expect(app(first, "2") === app(next, "2"))
        #expect(app(first, "1") !== app(next, "1"))
        #expect(app(next, "1")?.limits.membersMax == 7)
        #expect(next.quotas[AppID("1")] === first.quotas[AppID("1")])
        #expect(next.generation > first.generation)
        var expected = AppChanges()
        expected.changed = ["1"]
        #expect(next.changes(since: first) == expected)
    }

    @Test func theCountOfAnAppThatIsGoneStaysUntilItsConnectionsAre() {
        let first = AppRegistry([.development, second])
        let id = AppID("2")
        let quota = first.quotas[id]
        #expect(quota?.take() == true)
        let next = first.succeeded(by: [.development])
        #expect(next.apps[id] == nil)
        #expect(next.quotas[id] === quota)
        next.quotas[id]?.giveBack()
        #expect(next.succeeded(by: [.development]).quotas[id] == nil)
    }

    @Test func anAppIsFoundByAllOfItsKeys() {
        var several = second
        several.credentials = [.init(key: "third-key", secret: "s"), .init(secret: "t")]
        let registry = AppRegistry([.development, several])
        #expect(registry.apps[key: "second-key"]?.id == AppID("2"))
        #expect(registry.apps[key: "third-key"]?.id == AppID("2"))
        #expect(registry.apps[key: "app-key"]?.id == AppID("1"))
        #expect(registry.apps[key: "s"] == nil)
    }
}
