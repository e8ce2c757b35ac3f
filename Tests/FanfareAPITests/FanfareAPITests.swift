import FanfareAPI
import PusherProtocol
import Testing

@Suite("The HTTP API client") struct FanfareAPITests {
    private struct User: Encodable {
        var id: Int
        var name: String
    }

    private static func api(_ transport: RecordingTransport) throws -> BrokerAPI {
        var settings = BrokerAPI.Settings()
        settings.retries = .none
        return try BrokerAPI(
            appID: "3",
            key: "key",
            secret: "secret",
            transport: transport,
            settings: settings
        ) { 1_700_000_000 }
    }

    /// Verifies a request as a broker does.
    private static func verify(_ request: APIRequest) throws {
        let parts = request.target.split(separator: "?", maxSplits: 1)
        try RequestSignature.verify(
            method: request.method,
            path: Array(parts[0].utf8).span,
            parameters: QueryParameters(String(parts[1])),
            body: request.body.span,
            now: 1_700_000_599
        ) { _ in .app(AppSecret("secret")) }
        #expect(!request.target.contains("=secret"))
    }

    @Test("Signs requests as published")
    func signsAsPublished() async throws {
        let transport = RecordingTransport(200, #"{"channels":{},"users":[],"occupied":false}"#)
        let api = try BrokerAPI(
            appID: "3",
            key: "278d425bdf160c739803",
            secret: "7ad3773142a6692b25b8",
            transport: transport
        ) { 1_700_000_000 }
        _ = try await api.channels()
        _ = try await api.channels(prefix: "presence-", info: [.userCount])
        _ = try await api.users(on: "presence-foobar")
        try await api.terminateConnections(of: "u-1")
        let signatures = transport.requests.map { $0.target.suffix(64) }
        #expect(
            signatures == [
                "4707afdd8f617b6c4cd52e889d9136a131f31f57e26ce815afd04af0b804c7d3",
                "5142c71a4248ef5f3ec45e8793d8997773f1d19ce69ee6f6b1d75131d8aa0a6a",
                "9e7cd451c60103a5a50ac29611500f874871a63a6c627727ac333981759139a1",
                "11d74613eec6bf4f19686fb5f14503c7fa99a39d8fb46b3718a6ae823d41ff71",
            ]
        )
    }

    @Test func triggersOnOneChannel() async throws {
        let transport = RecordingTransport(200, "{}")
        let answer = try await Self.api(transport).trigger(
            "addUser",
            on: "userslist",
            data: User(id: 1, name: "Ann")
        )
        #expect(answer.isEmpty)
        let request = try #require(transport.requests.first)
        #expect(request.method == "POST")
        #expect(
            request.target.hasPrefix("/apps/3/events?auth_key=key&auth_timestamp=1700000000&")
        )
        try Self.verify(request)
        let publication = try TriggerRequest.parse(request.body.span)
        #expect(publication.name == "addUser")
        #expect(publication.channels.map(\.text) == ["userslist"])
        #expect(publication.except == nil)
        #expect(
            [#"{"id":1,"name":"Ann"}"#, #"{"name":"Ann","id":1}"#].contains(publication.data)
        )
    }

    @Test func triggersOnSeveralChannels() async throws {
        let transport = RecordingTransport(
            200,
            #"{"channels":{"presence-x":{"user_count":42},"ch-1":{"subscription_count":13}}}"#
        )
        let answer = try await Self.api(transport).trigger(
            "e",
            on: ["presence-x", "ch-1"],
            text: "say \"ż\"\n",
            except: "123.456",
            info: [.userCount, .subscriptionCount],
            key: "order-7"
        )
        #expect(answer["presence-x"]?.userCount == 42)
        #expect(answer["ch-1"]?.subscriptionCount == 13)
        #expect(answer["ch-1"]?.userCount == nil)
        let request = try #require(transport.requests.first)
        try Self.verify(request)
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == #"{"channels":["presence-x","ch-1"],"name":"e","data":"say \"ż\"\n","#
                + #""socket_id":"123.456","info":"subscription_count,user_count","#
                + #""idempotency_key":"order-7"}"#
        )
    }

    @Test func writesValuesAsJSON() async throws {
        let transport = RecordingTransport(200, "{}")
        let api = try Self.api(transport)
        try await api.trigger("e", on: "c", data: "text")
        try await api.trigger("e", on: "c", text: "text")
        try await api.trigger("e", on: ["c"], data: [1, 2])
        try await api.trigger("e", on: "c", data: Int?.none)
        let data = try transport.requests.map { try TriggerRequest.parse($0.body.span).data }
        #expect(data == [#""text""#, "text", "[1,2]", "null"])
    }

    @Test func sendsNothingThatCannotBeWritten() async throws {
        let transport = RecordingTransport(200, "{}")
        let api = try Self.api(transport)
        await #expect(throws: FanfareAPIError.self) {
            try await api.trigger("e", on: "c", data: Double.nan)
        }
        await #expect(throws: FanfareAPIError.invalidArgument("The channel's name is empty")) {
            try await api.channel("")
        }
        #expect(try await api.trigger(batch: []).isEmpty)
        #expect(transport.requests.isEmpty)
        #expect(throws: FanfareAPIError.invalidArgument("The app's secret is empty")) {
            try BrokerAPI(appID: "1", key: "k", secret: "", transport: transport)
        }
    }

    @Test func triggersBatches() async throws {
        let transport = RecordingTransport(200, #"{"batch":[{},{"user_count":2}]}"#)
        let answer = try await Self.api(transport).trigger(batch: [
            APIEvent("e1", on: "a", text: "1"),
            try APIEvent("e2", on: "presence-b", data: [2], except: "1.2", info: [.userCount]),
        ])
        #expect(answer.map(\.userCount) == [nil, 2])
        let request = try #require(transport.requests.first)
        #expect(request.target.hasPrefix("/apps/3/batch_events?"))
        try Self.verify(request)
        let batch = try TriggerRequest.parseBatch(request.body.span)
        #expect(batch.map(\.name) == ["e1", "e2"])
        #expect(batch.map(\.data) == ["1", "[2]"])
        #expect(batch.map(\.except) == [nil, SocketID(1, 2)])
        #expect(batch.map(\.info) == [[], .userCount])
    }

    @Test func listsChannels() async throws {
        let transport = RecordingTransport(
            200,
            #"{"channels":{"presence-a":{"user_count":1},"presence-b":{}}}"#
        )
        let channels = try await Self.api(transport).channels(
            prefix: "presence-",
            info: [.userCount]
        )
        #expect(channels.count == 2)
        #expect(channels["presence-a"]?.userCount == 1)
        #expect(channels["presence-b"]?.isOccupied == true)
        let request = try #require(transport.requests.first)
        #expect(request.method == "GET")
        #expect(request.body.isEmpty)
        try Self.verify(request)
        #expect(request.target.contains("&filter_by_prefix=presence-&info=user_count&"))
    }

    @Test func listsChannelsInPages() async throws {
        let transport = RecordingTransport(200, #"{"channels":{"a":{}},"next_cursor":"YQ"}"#)
        let page = try await Self.api(transport).channels(limit: 1)
        #expect(Array(page.channels.keys) == ["a"])
        #expect(page.nextCursor == "YQ")
        _ = try await Self.api(transport).channels(prefix: "b", limit: 2, after: page.nextCursor)
        for request in transport.requests { try Self.verify(request) }
        #expect(transport.requests[0].target.contains("&limit=1&"))
        #expect(transport.requests[1].target.contains("&cursor=YQ&filter_by_prefix=b&limit=2&"))
        await #expect(
            throws: FanfareAPIError.invalidArgument("The limit is 0; it must be at least 1")
        ) {
            try await Self.api(transport).channels(limit: 0)
        }
        #expect(transport.requests.count == 2)
    }

    @Test func queriesOneChannel() async throws {
        let transport = RecordingTransport(
            200,
            #"{"occupied":true,"subscription_count":42,"cache":{"data":"x","ttl":60}}"#
        )
        let channel = try await Self.api(transport).channel(
            "cache-a@b,c;d=e",
            info: [.cache, .subscriptionCount]
        )
        #expect(channel.isOccupied)
        #expect(channel.subscriptionCount == 42)
        #expect(channel.cache?.data == "x")
        #expect(channel.cache?.ttl == 60)
        let request = try #require(transport.requests.first)
        #expect(request.target.hasPrefix("/apps/3/channels/cache-a@b,c;d=e?"))
        try Self.verify(request)
    }

    @Test func readsVacantChannelsAndEscapesNames() async throws {
        let transport = RecordingTransport(200, #"{"occupied":false,"cache":null}"#)
        let channel = try await Self.api(transport).channel("#server-to-user-1/?")
        #expect(!channel.isOccupied)
        #expect(channel.cache == nil)
        let request = try #require(transport.requests.first)
        #expect(request.target.hasPrefix("/apps/3/channels/%23server-to-user-1%2F%3F?"))
        try Self.verify(request)
    }

    @Test("Options of recovery are written only when they are set")
    func recoveryOptions() async throws {
        let transport = RecordingTransport(
            200,
            #"{"channels":{"c":{"position":{"stream":"s.1","serial":8}}}}"#
        )
        let api = try Self.api(transport)
        let states = try await api.trigger(
            "e",
            on: "c",
            text: "1",
            info: [.position],
            key: "k",
            ifPosition: .init(stream: "s.1", serial: .max)
        )
        #expect(states["c"]?.position == .init(stream: "s.1", serial: 8))
        try await api.trigger("e", on: "c", data: 1, key: "k", ephemeral: true)
        try await api.trigger("e", on: ["c"], data: 1, key: "k", ephemeral: true)
        try await api.trigger("e", on: ["c"], text: "1", key: "k", ephemeral: true)
        try await api.trigger(
            batch: [
                APIEvent("e", on: "c", text: "1", key: "k", ephemeral: true),
                try APIEvent("e", on: "c", data: 1, key: "k", ephemeral: true),
            ]
        )
        try await api.trigger("e", on: "c", data: 1, key: "k", durable: true)
        let bodies = transport.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(
            bodies[5] == #"{"channels":["c"],"name":"e","data":"1","durable":true,"#
                + #""idempotency_key":"k"}"#
        )
        #expect(
            bodies[0] == #"{"channels":["c"],"name":"e","data":"1","info":"position","#
                + #""if_position":{"stream":"s.1","serial":18446744073709551615},"#
                + #""idempotency_key":"k"}"#
        )
        let member = #""name":"e","data":"1","ephemeral":true,"idempotency_key":"k"}"#
        for body in bodies[1...3] { #expect(body == #"{"channels":["c"],"# + member) }
        let event = #"{"channel":"c","# + member
        #expect(bodies[4] == #"{"batch":["# + event + "," + event + "]}")
    }

    @Test func listsUsers() async throws {
        let transport = RecordingTransport(200, #"{"users":[{"id":"1"},{"id":"u-2"}]}"#)
        #expect(try await Self.api(transport).users(on: "presence-x") == ["1", "u-2"])
        #expect(
            transport.requests.first?.target.hasPrefix("/apps/3/channels/presence-x/users?") == true
        )
    }

    @Test(arguments: [
        (400, "Batch too large (11 > 10)\n", "Batch too large (11 > 10)"),
        (401, "Unknown auth_key\n", "clock"), (404, "Not Found\n", "prefix"),
        (412, "The position is a 7\n", "Load what has changed"),
        (410, "x\n", "load the state again"),
        (413, "Too much\n", "Send less data"), (429, "", "(no explanation)"),
        (503, "<html>\n<body>…", "Try again later"), (201, "{}", "201"),
    ])
    func explainsRefusals(status: Int, body: String, part: String) async throws {
        let api = try Self.api(RecordingTransport(status, body))
        let error = await #expect(throws: FanfareAPIError.self) {
            try await api.trigger("e", on: "c", text: "")
        }
        guard case .refused(status, _) = error else {
            Issue.record("expected a refusal, not \(String(describing: error))")
            return
        }
        #expect(error?.description.contains(part) == true)
        #expect(error?.description.contains("\n") == false)
        #expect(error?.mayHaveArrived == (status >= 500))
    }

    @Test(arguments: ["", "[]", "hello", "{\"channels\":7}"])
    func refusesSuccessesThatAreNone(body: String) async throws {
        let api = try Self.api(RecordingTransport(200, body))
        let error = await #expect(throws: FanfareAPIError.self) {
            try await api.trigger("e", on: "c", text: "")
        }
        guard case .unexpectedAnswer = error else {
            Issue.record("expected .unexpectedAnswer, not \(String(describing: error))")
            return
        }
    }
}
