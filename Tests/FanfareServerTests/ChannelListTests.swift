import BrokerConfiguration
import Net
import PusherProtocol
import Simulation
import Testing

@testable import FanfareServer
@testable import Shard

@Suite("Long lists of channels, GET /apps/{id}/channels") struct ChannelListTests {
    private func request(_ parameters: [(String, String)] = []) -> SignedRequest {
        SignedRequest(method: "GET", path: "/apps/1/channels", parameters: parameters)
    }

    /// The names in an answer, in their order.
    private func names(_ body: String) -> [String] {
        let parts = body.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.indices.dropFirst(2)
            .filter { $0 + 1 < parts.count && parts[$0 + 1].hasPrefix(":{") }
            .map { String(parts[$0]) }
    }

    private func numbered(_ range: Range<Int>, _ prefix: String = "room-") -> [String] {
        range.map { "\(prefix)\(10_000 + $0)" }
    }

    @Test("All pages together are the list, whichever shards own the channels", arguments: [1, 3])
    func pages(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (client, _) = try await broker.connected()
            let channels = numbered(0..<1_300) + ["a", "z"]
            try await client.subscribe(to: channels)
            let backend = try Wire(port: broker.port)
            let whole = try await backend.ask(request())
            #expect(names(whole.body) == channels.sorted())
            #expect(!whole.body.contains("next_cursor"))
            for limit in [1_000, 433, 1_301, 1_302, 5_000] {
                var listed: [String] = []
                var cursor = ""
                var pageCount = 0
                repeat {
                    let parameters =
                        [("limit", "\(limit)")] + (cursor.isEmpty ? [] : [("cursor", cursor)])
                    let page = try await backend.ask(request(parameters))
                    #expect(page.status == 200)
                    let part = names(page.body)
                    let next = page.body.firstMatch(of: /"next_cursor":"([^"]*)"\}$/)
                    #expect(next.map { String($0.1) } == (next == nil ? nil : part.last))
                    #expect(next == nil || part.count == limit)
                    listed += part
                    pageCount += 1
                    cursor = next.map { String($0.1) } ?? ""
                } while !cursor.isEmpty
                #expect(listed == channels.sorted())
                #expect(pageCount == (channels.count + limit - 1) / limit)
            }
        }
    }

    @Test("A page has the requested prefix and attributes", arguments: [1, 2])
    func attributes(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let (one, _) = try await broker.connected()
            try await one.subscribe(to: ["a-1", "a-2", "a-3", "b-1"])
            let (other, _) = try await broker.connected()
            try await other.subscribe(to: ["a-2"])
            let backend = try Wire(port: broker.port)
            let parameters = [("filter_by_prefix", "a-"), ("info", "subscription_count")]
            #expect(
                try await backend.ask(request(parameters + [("limit", "2")])).body
                    == #"{"channels":{"a-1":{"subscription_count":1},"a-2":{"subscription_count":2}},"next_cursor":"a-2"}"#
            )
            #expect(
                try await backend.ask(request(parameters + [("limit", "2"), ("cursor", "a-2")]))
                    .body == #"{"channels":{"a-3":{"subscription_count":1}}}"#
            )
            // The cursor may be a vacant channel, and need not have the prefix.
            #expect(
                try await backend.ask(request(parameters + [("cursor", "a-21")])).body
                    == #"{"channels":{"a-3":{"subscription_count":1}}}"#
            )
            #expect(
                try await backend.ask(request([("limit", "9223372036854775807")])).body
                    == #"{"channels":{"a-1":{},"a-2":{},"a-3":{},"b-1":{}}}"#
            )
        }
    }

    @Test("Invalid page parameters are refused", arguments: [("limit", "0"), ("limit", "many")])
    func refuses(parameter: String, value: String) async throws {
        try await TestBroker.run { broker in
            let answer = try await Wire(port: broker.port).ask(request([(parameter, value)]))
            #expect(answer.status == 400)
            #expect(answer.body == "Invalid limit: \"\(value)\" (it must be 1 or more)\n")
        }
    }

    @Test("Other requests are served while a long list is assembled", arguments: [1, 2])
    func takesTurns(shards: Int) throws {
        let stepped = try SteppedBroker(shards: shards)
        let client = try stepped.client()
        let channels = numbered(0..<3_000)
        stepped.subscribe(client, to: channels)
        let backends = try (0..<3).map { _ in try stepped.connect() }
        for backend in backends { backend.send(request().text) }
        stepped.turn()
        // A later request waits for one portion of the earlier one at most.
        let other = try stepped.connect()
        other.send(SignedRequest(method: "GET", path: "/apps/1/channels/\(channels[0])").text)
        stepped.turn(4)
        #expect(other.answer?.body == #"{"occupied":true}"#)
        #expect(backends.allSatisfy { $0.answer == nil })
        var turnCount = 5
        stepped.turn {
            turnCount += 1
            return backends.allSatisfy { $0.answer != nil }
        }
        #expect(turnCount > 3 * channels.count / ChannelListings.portionMax / shards)
        #expect(names(backends[0].answer?.body ?? "") == channels)
        #expect(Set(backends.map { $0.answer?.body }).count == 1)
    }

    @Test("A channel that stays occupied is listed once, however others change", arguments: [1, 2])
    func changes(shards: Int) throws {
        let stepped = try SteppedBroker(shards: shards)
        let (staying, moving) = (try stepped.client(), try stepped.client())
        let channels = numbered(0..<1_500)
        stepped.subscribe(staying, to: channels)
        let leaving = numbered(0..<1_500, "room-1")
        stepped.subscribe(moving, to: Array(leaving.prefix(700)))
        let backend = try stepped.connect()
        backend.send(request().text)
        // Channels before, behind and among the listed ones, a few in each turn.
        var index = 0
        stepped.turn {
            for _ in 0..<2 where index < 700 {
                moving.send(Frames.unsubscribe(leaving[699 - index]))
                moving.send(Frames.subscribe(leaving[700 + index]))
                index += 1
            }
            return backend.answer != nil
        }
        #expect(index > 20)
        let listed = names(backend.answer?.body ?? "")
        #expect(listed == listed.sorted())
        #expect(Set(listed).count == listed.count)
        #expect(listed.filter(Set(channels).contains) == channels)
    }

    @Test("More lists than are assembled at once, some with closed connections")
    func manyAtOnce() throws {
        let stepped = try SteppedBroker(shards: 2)
        let client = try stepped.client()
        let channels = numbered(0..<2_000)
        stepped.subscribe(client, to: channels)
        // Starts the timer for requests that wait, which a site has once.
        let first = try stepped.connect()
        first.send(request().text)
        stepped.turn { first.answer != nil }
        first.close()
        stepped.settle()
        let before = stepped.broker.tableSizes()
        let backends = try (0..<30).map { _ in try stepped.connect() }
        for backend in backends { backend.send(request().text) }
        stepped.turn(3)
        for backend in backends.prefix(15) { backend.close() }
        stepped.turn { backends.dropFirst(15).allSatisfy { $0.answer != nil } }
        #expect(names(backends[15].answer?.body ?? "") == channels)
        #expect(Set(backends.dropFirst(15).map { $0.answer?.body }).count == 1)
        for backend in backends { backend.close() }
        stepped.settle()
        #expect(stepped.broker.tableSizes().growth(since: before).isEmpty)
    }

    @Test("A list longer than the queue is refused, its pages are not")
    func tooLong() async throws {
        try await TestBroker.run {
            $0.streamLimits.queuedBytesMax = 64 << 10
        } _: { broker in
            let (client, _) = try await broker.connected()
            let prefix = String(repeating: "x", count: 150)
            try await client.subscribe(to: numbered(0..<600, prefix))
            let backend = try Wire(port: broker.port)
            let answer = try await backend.ask(request())
            #expect(answer.status == 400)
            #expect(
                answer.body
                    == "The list of channels is longer than 65536 bytes (limits.queued_bytes_max): request it in pages, with limit and cursor\n"
            )
            #expect(try await backend.ask(request([("limit", "300")])).status == 200)
        }
    }

    @Test("The metric is the number of occupied channels")
    func metric() async throws {
        try await TestBroker.run(loops: 2) { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: numbered(0..<100))
            let (other, _) = try await broker.connected()
            try await other.subscribe(to: numbered(50..<150))
            #expect(await broker.metric("fanfare_channels") == 150)
            for channel in numbered(0..<20) { try client.unsubscribe(from: channel) }
            try await eventually { await broker.metric("fanfare_channels") == 130 }
            client.wire.reset()
            other.wire.reset()
            try await eventually { await broker.metric("fanfare_channels") == 0 }
        }
    }
}
