import Broker
import BrokerConfiguration
import Foundation
import PusherProtocol
import Testing

@testable import FanfareServer
@testable import Gateway
@testable import Observability

@Suite("Traces of an app, for whoever has its secret") struct EventTraceTests {
    private struct Batch: Decodable {
        var records: [ConsoleClient.Batch.Record]
        var omitted: Int
    }

    private struct Begun: Decodable { var id: String }

    private func ask(
        _ broker: TestBroker,
        _ method: String,
        _ path: String = "",
        _ parameters: [(String, String)] = [],
        secret: String = "app-secret"
    ) async throws -> Answer {
        var request = SignedRequest(method: method, path: "/apps/1/traces" + path)
        (request.parameters, request.secret) = (parameters, secret)
        return try await Wire(port: broker.port).ask(request)
    }

    private func begin(
        _ broker: TestBroker,
        _ parameters: [(String, String)] = []
    ) async throws -> String {
        let answer = try await ask(broker, "POST", "", parameters)
        try #require(answer.status == 200, "\(answer.body)")
        return try JSONDecoder().decode(Begun.self, from: Data(answer.body.utf8)).id
    }

    private func read(_ broker: TestBroker, _ id: String) async throws -> Batch {
        let answer = try await ask(broker, "GET", "/\(id)")
        try #require(answer.status == 200, "\(answer.body)")
        return try JSONDecoder().decode(Batch.self, from: Data(answer.body.utf8))
    }

    /// Reads until so many records have come.
    private func records(
        _ count: Int,
        _ broker: TestBroker,
        _ id: String
    ) async throws -> [ConsoleClient.Batch.Record] {
        var records: [ConsoleClient.Batch.Record] = []
        try await eventually {
            records += try await read(broker, id).records
            return records.count >= count
        }
        return records
    }

    @Test("What happens is recorded from the answer on", arguments: [1, 3])
    func events(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let id = try await begin(broker)
            #expect(try await broker.trigger("e", "hello", on: "news").status == 200)
            let (client, socketID) = try await broker.subscribed(to: "news")
            let found = try await records(4, broker, id)
            #expect(found.map(\.kind) == ["event", "connected", "occupied", "subscribed"])
            #expect(found[0].event == "e" && found[0].data == "hello" && found[0].length == 5)
            #expect(found[3].socket == socketID && found[3].channel == "news")
            #expect(try await read(broker, id).records.isEmpty, "each is told once")
            withExtendedLifetime(client) {}
        }
    }

    @Test func refusals() async throws {
        try await TestBroker.run { broker in
            let id = try await begin(broker, [("channel", "private-x")])
            let (client, socketID) = try await broker.connected()
            try client.send(
                #"{"event":"pusher:subscribe","data":{"channel":"private-x","auth":"app-key:0"}}"#
            )
            #expect(try await client.nextText().contains("subscription_error"))
            let found = try await records(1, broker, id)
            #expect(found.map(\.kind) == ["refused"] && found[0].socket == socketID)
        }
    }

    @Test(
        "Filters",
        arguments: [
            ([("channel", "news")], ["a", "b"]), ([("event", "a")], ["a", "a"]),
            ([("channel", "sport"), ("event", "a")], ["a"]), ([("channel", "none")], []),
        ]
    )
    func filters(parameters: [(String, String)], events: [String]) async throws {
        try await TestBroker.run(loops: 2) { broker in
            let id = try await begin(broker, parameters)
            let all = try await begin(broker)
            for (event, channel) in [("a", "news"), ("b", "news"), ("a", "sport")] {
                #expect(try await broker.trigger(event, "1", on: channel).status == 200)
            }
            _ = try await records(3, broker, all)
            #expect(try await read(broker, id).records.compactMap(\.event) == events)
        }
    }

    @Test("A user: the sign-in, what the connection does then, and events to the user")
    func users() async throws {
        try await TestBroker.run(loops: 2) { broker in
            let id = try await begin(broker, [("user_id", "ann")])
            let (bob, _) = try await broker.signedIn(as: "bob")
            try await bob.subscribe(to: "news")
            let (ann, annID) = try await broker.signedIn(as: "ann")
            try await ann.subscribe(to: "news")
            #expect(try await broker.trigger("e", "1", on: "#server-to-user-ann").status == 200)
            #expect(try await broker.trigger("e", "1", on: "#server-to-user-bob").status == 200)
            ann.wire.reset()
            // The departure from "news" may be told of before the connection's end, or behind it.
            let found = try await records(5, broker, id)
            #expect(Set(found.prefix(2).map(\.kind)) == ["signed in", "subscribed"])
            #expect(found.contains { $0.kind == "event" && $0.channel == "#server-to-user-ann" })
            #expect(found.contains { $0.kind == "disconnected" && $0.socket == annID })
            #expect(!found.contains { $0.user == "bob" })
            withExtendedLifetime(bob) {}
        }
    }

    @Test func aSocket() async throws {
        try await TestBroker.run(loops: 2) { broker in
            let (client, socketID) = try await broker.connected()
            let id = try await begin(broker, [("socket_id", socketID)])
            let (other, _) = try await broker.subscribed(to: "news")
            try await client.subscribe(to: "news")
            let found = try await records(1, broker, id)
            #expect(found.map(\.kind) == ["subscribed"] && found[0].socket == socketID)
            withExtendedLifetime(other) {}
        }
    }

    @Test("Without the secret nothing is told, and nothing observed")
    func needsTheSecret() async throws {
        try await TestBroker.run { broker in
            #expect(try await ask(broker, "POST", secret: "wrong").status == 401)
            #expect(await !broker.server.shards[0].isObserved(.published))
            let id = try await begin(broker)
            #expect(await broker.server.shards[0].isObserved(.published))
            #expect(try await ask(broker, "GET", "/\(id)", secret: "wrong").status == 401)
            #expect(try await ask(broker, "DELETE", "/\(id)", secret: "wrong").status == 401)
            #expect(try await ask(broker, "DELETE", "/\(id)").status == 200)
            #expect(await !broker.server.shards[0].isObserved(.published))
            #expect(try await ask(broker, "GET", "/\(id)").status == 404)
        }
    }

    @Test(
        "Values that cannot be",
        arguments: [("socket_id", "x"), ("socket_id", "01.2"), ("user_id", "a!b"), ("user_id", "")]
    )
    func invalid(name: String, value: String) async throws {
        try await TestBroker.run { broker in
            let answer = try await ask(broker, "POST", "", [(name, value)])
            #expect(answer.status == 400 && answer.body.contains("Invalid \(name)"))
        }
    }

    @Test("An app has so many traces; one that ends makes room")
    func isBounded() async throws {
        try await TestBroker.run { broker in
            var ids: [String] = []
            for _ in 0..<EventTraces.countMax { ids.append(try await begin(broker)) }
            let refused = try await ask(broker, "POST")
            #expect(refused.status == 429 && refused.body.contains("8 traces"))
            #expect(try await ask(broker, "DELETE", "/\(ids[0])").status == 200)
            _ = try await begin(broker)
        }
    }

    @Test("Another app's trace is not found")
    func ofAnotherApp() async throws {
        try await TestBroker.run { configuration in
            configuration.apps.append(AppConfiguration(id: "2", key: "k", secret: "s"))
        } _: { broker in
            let id = try await begin(broker)
            var request = SignedRequest(method: "GET", path: "/apps/2/traces/\(id)")
            (request.key, request.secret) = ("k", "s")
            #expect(try await Wire(port: broker.port).ask(request).status == 404)
        }
    }

    // MARK: - Without a broker

    private let address: ChannelAddress

    init() throws { address = ChannelAddress(app: AppID("1"), name: try ChannelName("news")) }

    @Test("A batch has the first 500 events, and the number of the others")
    func batches() throws {
        let trace = EventTrace(of: address.app, TraceFilter())
        for number in 0..<600 {
            trace.observe(.channel(.memberAdded(UserID("\(number)")), address))
        }
        let batch = try JSONDecoder().decode(Batch.self, from: Data(trace.takeBatch()))
        #expect(batch.records.count == EventTrace.recordsMax && batch.omitted == 100)
        #expect(batch.records.last?.user == "499")
        let next = try JSONDecoder().decode(Batch.self, from: Data(trace.takeBatch()))
        #expect(next.records.isEmpty && next.omitted == 0)
    }

    @Test("It ends at the sixth look, 30 seconds, behind the last request")
    func idle() {
        #expect(EventTraces.idleTime == .seconds(30))
        let trace = EventTrace(of: address.app, TraceFilter())
        for _ in 1..<EventTrace.idleLooksMax { #expect(!trace.look()) }
        _ = trace.takeBatch()
        for _ in 1..<EventTrace.idleLooksMax { #expect(!trace.look()) }
        #expect(trace.look())
    }
}
