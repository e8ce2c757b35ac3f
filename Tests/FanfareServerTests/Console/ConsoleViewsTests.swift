import Broker
import Foundation
import HTTP1
import Logging
import SQLite
import Testing
import Webhooks

@testable import BrokerConfiguration
@testable import Console
@testable import FanfareServer
@testable import Gateway
@testable import Observability
@testable import Shard

@Suite("The views of the console") struct ConsoleViewsTests {
    private func answer<Value: Decodable>(
        _ console: ConsoleClient,
        _ path: String,
        as type: Value.Type = Value.self
    ) async throws -> Value {
        let answer = try await console.request("GET", "/console/\(path)")
        try #require(answer.status == 200, "\(path): \(answer.body)")
        return try JSONDecoder().decode(type, from: Data(answer.body.utf8))
    }

    // MARK: - Connections

    private struct Listing: Decodable {
        struct Connection: Decodable {
            var socket: String
            var app: String
            var user: String?
            var address: String?
            var client: String?
            var subscriptions: Int
            var channels: [String]
            var queued: Int
            var roundTrip: Int?
            var silence: Int
        }

        var total: Int
        var matching: Int
        var connections: [Connection]
    }

    @Test("A connection has its user, address, library and channels", arguments: [1, 3])
    func connections(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let console = ConsoleClient(port: broker.port)
            let page = try await console.subscribed()
            let (ann, annID) = try await broker.signedIn(as: "ann")
            let bob = try await WebSocketWire(
                port: broker.port,
                target: "/app/app-key?protocol=7&client=js&version=8.4.0"
            )
            let bobID = try await bob.socketID()
            for number in 0..<5 { try await bob.subscribe(to: "channel-\(number)") }

            let all: Listing = try await answer(console, "connections")
            #expect(all.total == 2 && all.matching == 2, "without the page itself")
            let found = try #require(all.connections.first { $0.socket == annID })
            #expect(found.user == "ann" && found.app == "1" && found.subscriptions == 0)
            #expect(found.address?.hasPrefix("127.0.0.1:") == true)
            #expect(found.roundTrip != nil && found.queued == 0 && found.silence < 60)
            let other = try #require(all.connections.first { $0.socket == bobID })
            #expect(other.client == "js 8.4.0" && other.user == nil)
            #expect(other.subscriptions == 5 && other.channels.count == 3)

            let single: Listing = try await answer(console, "connections?socket=\(bobID)")
            #expect(single.connections.map(\.socket) == [bobID])
            let names = (0..<5).map { "channel-\($0)" }
            #expect(single.connections.first.map { Set($0.channels) } == Set(names))
            withExtendedLifetime((page, ann, bob)) {}
        }
    }

    @Test(
        "Filters, all of which have to fit",
        arguments: [
            ("app=1", 3), ("app=2", 0), ("user=an", 1), ("user=nn", 0), ("client=js", 1),
            ("client=swift", 0), ("address=127.0.0.1", 3), ("address=10.9", 0), ("behind=1", 0),
            ("socket=x", 0), ("user=ann&client=js", 0), ("user=&client=", 3),
        ]
    )
    func filters(query: String, count: Int) async throws {
        try await TestBroker.run { broker in
            let (ann, _) = try await broker.signedIn(as: "ann")
            let (bob, _) = try await broker.signedIn(as: "bob")
            let page = try await WebSocketWire(
                port: broker.port,
                target: "/app/app-key?protocol=7&client=js&version=8.4.0"
            )
            _ = try await page.socketID()
            let console = ConsoleClient(port: broker.port)
            let list: Listing = try await answer(console, "connections?\(query)")
            #expect(list.matching == count && list.total == 3)
            withExtendedLifetime((ann, bob, page)) {}
        }
    }

    @Test("A list is bounded, and has the number of those that it leaves out")
    func isBounded() async throws {
        try await TestBroker.run(loops: 2) { broker in
            let count = BrokerConsole.connectionsMax + 30
            var clients: [WebSocketWire] = []
            for _ in 0..<count { clients.append(try await broker.connected().0) }
            let list: Listing = try await answer(ConsoleClient(port: broker.port), "connections")
            #expect(list.total == count && list.matching == count)
            #expect(list.connections.count == BrokerConsole.connectionsMax)
            withExtendedLifetime(clients) {}
        }
    }

    @Test("A portion visits so many pages of the table, and says where to go on")
    func portions() async throws {
        try await TestBroker.run { broker in
            var clients: [WebSocketWire] = []
            for _ in 0..<70 { clients.append(try await broker.connected().0) }
            let shard = broker.server.shards[0]
            let all = await shard.connections(of: ConnectionQuery(), from: 0, limit: 10)
            #expect(all.matchCount == 70 && all.entries.count == 10 && all.nextPage == nil)
            let second = await shard.connections(of: ConnectionQuery(), from: 1, limit: 10)
            #expect(second.matchCount == 6 && second.entries.count == 6)
            // A page that has gone meanwhile.
            let none = await shard.connections(of: ConnectionQuery(), from: 9, limit: 10)
            #expect(none.matchCount == 0 && none.nextPage == nil)
            withExtendedLifetime(clients) {}
        }
    }

    @Test("A connection is closed with 4200, a user's with 4009, and the log says by whom")
    func closing() async throws {
        let lines = LogLines()
        try await TestBroker.run(loops: 2, log: lines.logger(from: .info)) { broker in
            let console = ConsoleClient(port: broker.port)
            let (client, socketID) = try await broker.connected()
            let closed = try await console.request("DELETE", "/console/connections/\(socketID)")
            #expect(closed.status == 200)
            try await client.expectEnd(4200)
            try await eventually {
                lines.all.contains {
                    $0.hasPrefix("notice console: connection closed peer=127.0.0.1:")
                        && $0.hasSuffix("socket=\(socketID)")
                }
            }
            let path = "/console/apps/1/users/ann/terminate_connections"
            let (ann, _) = try await broker.signedIn(as: "ann")
            #expect(try await console.request("POST", path).status == 200)
            try await ann.expectEnd(4009)
            #expect(
                lines.all.contains {
                    $0.hasPrefix("notice console: request") && $0.contains("path=\(path)")
                        && $0.contains("peer=127.0.0.1:")
                }
            )
        }
    }

    @Test(arguments: [("1.2", 404), ("x", 400), ("", 400)])
    func closingNobody(socketID: String, status: Int) async throws {
        try await TestBroker.run(loops: 2) { broker in
            let console = ConsoleClient(port: broker.port)
            let answer = try await console.request("DELETE", "/console/connections/\(socketID)")
            #expect(answer.status == status)
        }
    }

    @Test("The page's own connection cannot be closed by a list, since it is in none")
    func ownConnection() async throws {
        try await TestBroker.run { broker in
            let console = ConsoleClient(port: broker.port)
            let page = try await console.subscribed()
            let list: Listing = try await answer(console, "connections")
            #expect(list.total == 0 && list.connections.isEmpty)
            withExtendedLifetime(page) {}
        }
    }

    // MARK: - Limits and configuration

    private struct Limits: Decodable {
        struct Row: Decodable {
            var limit: String
            var key: String
            var value: String
            var count: Int
            var app: String?
            var used: Int?
            var max: Int?
            var isBytes: Bool
        }

        var limits: [Row]
    }

    @Test func everyLimitHasARow() async throws {
        try await TestBroker.run(loops: 2) { configuration in
            configuration.connectionsMax = 100
            configuration.apps[0].limits.connectionsMax = 1
        } _: { broker in
            let console = ConsoleClient(port: broker.port)
            let page = try await console.subscribed()
            let (client, _) = try await broker.subscribed(to: "cache-news")
            #expect(try await broker.trigger("e", "1", on: "cache-news").status == 200)
            try await broker.expectRefusal(4004)
            let long = String(repeating: "x", count: 200_000)
            #expect(try await broker.trigger("e", long, on: "a").status == 413)
            let rows = try await answer(console, "limits", as: Limits.self).limits
            #expect(Set(rows.map(\.limit)) == Set(LimitTable(Configuration()).rows.map(\.name)))
            func row(_ name: String) -> Limits.Row? { rows.first { $0.limit == name } }
            #expect(row("connections")?.used == 1 && row("connections")?.max == 100)
            let app = row("app_connections")
            #expect(app?.used == 1 && app?.max == 1 && app?.count == 1 && app?.app == "1")
            #expect(row("cached_events")?.used == 1)
            // Whose limit it is, is known even if its use is not.
            #expect(row("event_data_length")?.app == "1" && row("event_data_length")?.count == 1)
            #expect(row("members")?.app == nil && row("members")?.count == 0)
            let queued = row("queued_bytes_total")
            #expect(queued?.used == 0 && queued?.isBytes == true)
            let length = row("message_length")
            #expect(length?.used == nil && length?.value.hasSuffix("KiB") == true)
            withExtendedLifetime((page, client)) {}
        }
    }

    private struct Settings: Decodable {
        struct Row: Decodable {
            var key: String
            var value: String
            var isDefault: Bool
        }

        var settings: [Row]
    }

    @Test("The configuration in force, also behind a reload, without secrets")
    func configuration() async throws {
        try await TestBroker.run { configuration in
            configuration.console.port = 0
            configuration.console.password = "a-long-password"
            configuration.apps[0].secret = "hidden-1"
            configuration.apps[0].webhooks = [WebhookConfiguration(url: "http://127.0.0.1:9/hook")]
            configuration.apps[0].webhooks[0].headers = ["Authorization": "hidden-2"]
            configuration.cluster.redis.password = "hidden-3"
        } _: { broker in
            let console = try #require(broker.server.console)
            func read() throws -> (text: String, rows: [String: Settings.Row]) {
                let body = console.configurationListing.body
                let rows = try JSONDecoder().decode(Settings.self, from: Data(body)).settings
                let pairs = rows.map { ($0.key, $0) }
                return (
                    String(decoding: body, as: UTF8.self),
                    Dictionary(pairs) { first, _ in first }
                )
            }
            let (text, rows) = try read()
            #expect(!text.contains("hidden-") && !text.contains("a-long-password"))
            #expect(rows["apps.0.secret"]?.value == "(secret)")
            for key in ["apps.0.secret", "apps.0.id", "listen.port"] {
                #expect(rows[key]?.isDefault == false, "\(key)")
            }
            #expect(rows["console.password"]?.value == "(secret)")
            #expect(rows["apps.0.webhooks.0.headers.Authorization"]?.value == "(secret)")
            #expect(rows["apps.0.webhooks.0.url"]?.value == "http://127.0.0.1:9/hook")
            #expect(rows["clients.pong_timeout"]?.isDefault == true)
            #expect(rows["apps.0.members_max"]?.isDefault == true)

            var changed = broker.server.configuration
            changed.apps[0].limits.membersMax = 7
            changed.pongTimeout += 1
            try await broker.server.reload(changed)
            let after = try read().rows
            #expect(after["apps.0.members_max"]?.value == "7")
            #expect(after["apps.0.members_max"]?.isDefault == false)
            #expect(after["clients.pong_timeout"]?.isDefault == true, "needs a restart")
        }
    }

    @Test("Every key of the schema is listed, each once")
    func allKeysAreListed() {
        let keys = Configuration.development.listed.map(\.key)
        #expect(Set(keys).count == keys.count)
        for key in ConfigurationKeys.all {
            #expect(keys.contains { $0 == key.path || $0.hasPrefix(key.path + ".") }, "\(key.path)")
        }
    }

    // MARK: - Webhooks

    private struct Webhooks: Decodable {
        struct Endpoint: Decodable {
            var app: String
            var url: String
            var headers: [String]
        }

        struct Letter: Decodable {
            var id: String
            var url: String
            var cause: String
            var events: String
            var isReplayed: Bool
        }

        var endpoints: [Endpoint]
        var counters: [String: Int]
        var deadLetterCount: Int?
        var deadLetters: [Letter]?
    }

    @Test("Dead letters are shown, sent again and deleted")
    func deadLetters() async throws {
        let folder = try TemporaryFolder()
        let lines = LogLines()
        let receiver = try WebhookReceiver { Response(status: 410) }
        try await TestBroker.run(log: lines.logger(from: .info)) { configuration in
            configuration.apps[0].webhooks = [.to(receiver.url())]
            configuration.apps[0].webhooks[0].headers = ["Authorization": "hidden"]
            configuration.webhooks.database = folder.path("webhooks.sqlite")
        } _: { broker in
            let console = ConsoleClient(port: broker.port)
            let (client, _) = try await broker.subscribed(to: "news")
            var seen: Webhooks?
            try await eventually {
                seen = try await answer(console, "webhooks", as: Webhooks.self)
                // A dead letter is written before it is counted.
                return seen?.deadLetters?.count == 1 && seen?.counters["dead"] == 1
            }
            let letter = try #require(seen?.deadLetters?.first)
            #expect(letter.cause == "gone" && letter.events.contains("channel_occupied"))
            #expect(seen?.endpoints.map(\.url) == [receiver.url()])
            #expect(seen?.endpoints.first?.headers == ["Authorization"])
            #expect(seen?.counters["failed"] == 1)

            let replay = try await console.request(
                "POST",
                "/console/webhooks/replay",
                body: "id=\(letter.id)"
            )
            #expect(replay.status == 200 && replay.body == #"{"count":1}"#)
            // As a new webhook, which is refused again.
            try await eventually { receiver.requests.count == 2 }
            try await eventually {
                seen = try await answer(console, "webhooks", as: Webhooks.self)
                return seen?.deadLetters?.count == 1 && seen?.deadLetters?.first?.id != letter.id
            }
            let last = try #require(seen?.deadLetters?.first).id
            let deleted = try await console.request(
                "POST",
                "/console/webhooks/delete",
                body: "id=\(last)"
            )
            #expect(deleted.body == #"{"count":1}"#)
            #expect(try await answer(console, "webhooks", as: Webhooks.self).deadLetterCount == 0)
            for action in ["dead letters are sent again", "dead letter deleted"] {
                #expect(
                    lines.all.contains {
                        $0.hasPrefix("notice console: \(action) count=1 id=")
                            && $0.contains("peer=127.0.0.1:")
                    }
                )
            }
            withExtendedLifetime(client) {}
        }
        await receiver.stop()
    }

    @Test("Changes that wait for the file keep no other answer waiting")
    func theFileIsBusy() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("webhooks.sqlite")
        try await TestBroker.run { configuration in
            configuration.apps[0].webhooks = [WebhookConfiguration(url: "http://127.0.0.1:9/hook")]
            configuration.webhooks.database = path
        } _: { broker in
            let console = ConsoleClient(port: broker.port)
            let database = try SQLiteDatabase(path: path, busyTimeout: 5_000)
            try database.access { try $0.execute("BEGIN IMMEDIATE") }
            @Sendable func replay() async throws -> Int {
                try await console.request("POST", "/console/webhooks/replay", body: "all=1").status
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<12 { group.addTask { try await replay() } }
                // Four wait for the file, the others are refused at once.
                for _ in 0..<8 { #expect(try await group.next() == 503) }
                #expect(try await console.request("GET", "/console/limits").status == 200)
                try database.access { try $0.execute("ROLLBACK") }
                try await group.waitForAll()
            }
            #expect(try await replay() == 200)
            database.close()
        }
    }

    @Test(
        "Changes that cannot be",
        arguments: [
            ("replay", "", 400), ("replay", "id=x", 400), ("delete", "all=1", 400),
            ("replay", "id=1", 404), ("delete", "id=1", 404), ("replay", "all=1", 404),
        ]
    )
    func refusals(action: String, body: String, status: Int) async throws {
        try await TestBroker.run { broker in
            let console = ConsoleClient(port: broker.port)
            let path = "/console/webhooks/\(action)"
            let answer = try await console.request("POST", path, body: body)
            #expect(answer.status == status)
            let view: Webhooks = try await self.answer(console, "webhooks")
            #expect(view.endpoints.isEmpty && view.deadLetters == nil, "nothing is kept")
        }
    }
}
