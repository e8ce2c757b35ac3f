import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import Console
@testable import FanfareServer
@testable import Gateway
@testable import Observability
@testable import Shard

@Suite("The console of a broker for development") struct ConsoleTests {
    @Test func aPageIsAtTheRoot() async throws {
        try await TestBroker.run { broker in
            let console = ConsoleClient(port: broker.port)
            for host in ["localhost", "127.0.0.1:6001", "[::1]:6001", "LOCALHOST"] {
                let answer = try await console.request("GET", "/", fields: "", host: host)
                #expect(answer.status == 200, "\(host)")
                #expect(answer.body.contains("<title>Fanfare console</title>"))
                #expect(answer.head.contains("Content-Security-Policy: default-src 'none'; "))
                #expect(answer.head.contains("frame-ancestors 'none'"))
            }
            for name in ["console.js", "console.css", "console-page.js"] {
                let answer = try await console.request("GET", "/console/\(name)", fields: "")
                #expect(answer.status == 200, "\(name)")
            }
            #expect(try await console.request("POST", "/console/console.js").status == 405)
            #expect(try await console.request("GET", "/console/none.js").status == 404)
        }
    }

    @Test("Other names, forwarded requests and other apps see nothing of it")
    func isForThisMachineAlone() async throws {
        try await TestBroker.run { broker in
            let console = ConsoleClient(port: broker.port)
            for host in ["evil.test", "127.0.0.1.evil.test", "10.0.0.1", "localhost.evil.test"] {
                #expect(try await console.request("GET", "/", host: host).status == 404, "\(host)")
                let session = try await console.request("GET", "/console/session", host: host)
                #expect(session.status == 404)
            }
            for field in ["X-Forwarded-For: 10.0.0.1\r\n", "Forwarded: for=10.0.0.1\r\n"] {
                #expect(try await console.request("GET", "/", fields: field).status == 404)
            }
        }
        try await TestBroker.run({ configuration in
            configuration.apps[0].secret = "another"
        }) { broker in
            let page = try await ConsoleClient(port: broker.port).request("GET", "/")
            #expect(page.status == 404)
        }
    }

    @Test("A page of another origin cannot send the field that every request needs")
    func needsAField() async throws {
        try await TestBroker.run { broker in
            let console = ConsoleClient(port: broker.port)
            for (method, path) in [
                ("GET", "/console/session"), ("GET", "/console/samples"),
                ("POST", "/console/authorize"), ("POST", "/console/apps/1/events"),
                ("OPTIONS", "/console/apps/1/events"),
            ] {
                let answer = try await console.request(method, path, fields: "")
                #expect(answer.status == 403, "\(method) \(path)")
                #expect(!answer.head.contains("Access-Control"))
            }
        }
    }

    @Test func aPageGetsWhatHappens() async throws {
        try await TestBroker.run(loops: 2) { broker in
            let console = ConsoleClient(port: broker.port)
            let page = try await console.subscribed()
            let feed = try #require(broker.server.console?.feed)
            try await eventually { feed.isWatched }
            let (client, socketID) = try await broker.subscribed(to: "news")
            let joined = try await ConsoleClient.record(on: page) { $0.kind == "subscribed" }
            #expect(joined.channel == "news" && joined.socket == socketID && joined.app == "1")
            #expect(try await broker.trigger("new", "hello", on: "news").status == 200)
            let event = try await ConsoleClient.record(on: page) { $0.kind == "event" }
            #expect(event.channel == "news" && event.event == "new" && event.data == "hello")
            #expect(event.length == 5)
            withExtendedLifetime(client) {}
        }
    }

    @Test("Nothing is observed before a page subscribes, and behind its end")
    func costsNothingWhileNobodyLooks() async throws {
        try await TestBroker.run { broker in
            let server = broker.server
            let console = try #require(server.console)
            let app = AppID("1")
            func kinds() -> BrokerEventKinds { console.feed.observedKinds(of: app) }
            #expect(kinds() == [] && console.feed.observedKinds(of: nil) == [])
            #expect(await !server.shards[0].isObserved(.published))
            #expect(await !server.shards[0].isObserved(.clientEvents))
            #expect(try await broker.trigger("unseen", "1", on: "news").status == 200)
            #expect(console.feed.takeBatch() == nil)

            var page: WebSocketWire? = try await ConsoleClient(port: broker.port).subscribed()
            try await eventually { await server.shards[0].isObserved(.published) }
            try page?.send(opcode: 8, [3, 0xE8])
            page = nil
            try await eventually { await !server.shards[0].isObserved(.published) }
            #expect(kinds() == [] && !console.feed.isWatched)
            #expect(try await broker.trigger("unseen", "1", on: "news").status == 200)
            #expect(console.feed.takeBatch() == nil)
            // Another page begins again.
            let next = try await ConsoleClient(port: broker.port).subscribed()
            try await eventually { await server.shards[0].isObserved(.published) }
            withExtendedLifetime(next) {}
        }
    }

    @Test func theLoadIsSampledWithoutThePageItself() async throws {
        struct Load: Decodable { var sample: [Int] }
        try await TestBroker.run { broker in
            let (client, _) = try await broker.subscribed(to: "news")
            let page = try await ConsoleClient(port: broker.port).subscribed()
            let load: Load = try await ConsoleClient.next("load", on: page)
            #expect(load.sample.count == 9)
            #expect(load.sample[1] == 1, "the client")
            #expect(load.sample[2] == 1, "its channel")
            let history = try await ConsoleClient(port: broker.port)
                .request("GET", "/console/samples")
            #expect(history.status == 200 && history.body.hasPrefix("[["))
            withExtendedLifetime(client) {}
        }
    }

    @Test("The API of an app is open to the page, and nobody's to the console's own app")
    func queriesAndSends() async throws {
        try await TestBroker.run { broker in
            let console = ConsoleClient(port: broker.port)
            let (client, _) = try await broker.subscribed(to: "news")
            let body = #"{"name":"new","channels":["news"],"data":"1"}"#
            let sent = try await console.request("POST", "/console/apps/1/events", body: body)
            #expect(sent.status == 200 && sent.body == "{}")
            #expect(try await client.nextText() == eventText("new", "news", data: "1"))
            let list = try await console.request("GET", "/console/apps/1/channels")
            #expect(list.body == #"{"channels":{"news":{}}}"#)
            #expect(try await console.request("GET", "/console/apps/2/channels").status == 404)
            #expect(try await console.request("GET", "/console/apps/1/events").status == 405)
            let own = try #require(broker.server.console).app.id.text
            #expect(try await console.request("GET", "/console/apps/\(own)/channels").status == 404)
            // Without a signature, the API itself refuses the same.
            #expect(try await console.request("GET", "/apps/1/channels").status == 401)
        }
    }

    @Test("A reload to another app closes the page, and ends what it gets")
    func endsWithTheDevelopmentApp() async throws {
        try await TestBroker.run { broker in
            let console = ConsoleClient(port: broker.port)
            let page = try await console.subscribed()
            try await eventually { await broker.server.shards[0].isObserved(.published) }
            var configuration = broker.server.configuration
            configuration.apps.append(AppConfiguration(id: "2", key: "k", secret: "s"))
            try await broker.server.reload(configuration)
            #expect(try await console.request("GET", "/").status == 404)
            #expect(try await console.request("GET", "/console/session").status == 404)
            try await eventually { await !broker.server.shards[0].isObserved(.published) }
            withExtendedLifetime(page) {}
        }
    }
}

@Suite("What the console keeps") struct ConsoleFeedTests {
    private let address: ChannelAddress

    init() throws { address = ChannelAddress(app: AppID("1"), name: try ChannelName("news")) }

    private func observe(_ count: Int, by feed: ConsoleFeed) {
        for number in 0..<count {
            let user = UserID("\(number)")
            feed.observe(.channel(.memberAdded(user), address), of: address.app)
        }
    }

    private func batch(_ feed: ConsoleFeed) -> String? {
        feed.takeBatch().map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "A batch has at most fifty events, and the number of the others",
        arguments: [
            (1, 0), (50, 0), (51, 1), (1_000, 950),
        ]
    )
    func isBounded(count: Int, omitted: Int) throws {
        let feed = ConsoleFeed(of: AppID("console"), showsData: true)
        feed.isWatched = true
        observe(count, by: feed)
        let text = try #require(batch(feed))
        #expect(text.hasSuffix("],\"omitted\":\(omitted)}"))
        #expect(text.matches(of: /"kind":"member added"/).count == count - omitted)
        #expect(batch(feed) == nil)
        observe(1, by: feed)
        #expect(batch(feed)?.hasSuffix("],\"omitted\":0}") == true)
    }

    @Test func nothingIsKeptWhileNobodyLooks() {
        let feed = ConsoleFeed(of: AppID("console"), showsData: true)
        observe(10, by: feed)
        #expect(batch(feed) == nil)
    }

    @Test(
        "Data is shown where console.payloads is on, up to 1,024 characters",
        arguments: [
            (true, "short", "short"), (true, String(repeating: "é", count: 2_000), nil),
            (false, "short", nil),
        ]
    )
    func showsData(isShown: Bool, data: String, shown: String?) throws {
        let feed = ConsoleFeed(of: AppID("console"), showsData: isShown)
        feed.isWatched = true
        let event = ClientEvent(
            nameToken: JSONWriter.token("client-x"),
            channel: "private-a",
            dataToken: JSONWriter.token(data)
        )
        let socketID = SocketID(1, 2)
        feed.observe(
            .channel(.clientEvent(event, sender: socketID, userID: nil), address),
            of: address.app
        )
        let text = try #require(batch(feed))
        #expect(text.contains("\"event\":\"client-x\",\"length\":\(data.utf8.count)"))
        #expect(text.contains("\"socket\":\"1.2\""))
        #expect(text.contains("\"data\"") == isShown)
        if let shown { #expect(text.contains("\"data\":\"\(shown)\"")) }
        if isShown, shown == nil {
            #expect(text.matches(of: /é/).count == EventRecords.dataLengthMax)
        }
    }

    @Test func anHourOfSamplesIsKept() {
        let samples = ConsoleSamples()
        #expect(samples.history == Array("[]".utf8))
        for number in 0..<365 {
            var reading = ShardReading()
            reading.connections = number
            samples.append(ConsoleSamples.Sample(reading, loopDelay: .zero, sendDelay: .zero))
        }
        let text = String(decoding: samples.history, as: UTF8.self)
        let counts = text.matches(of: /\[\d+,(\d+),/).compactMap { Int($0.1) }
        #expect(counts == Array(5..<365))
    }
}
