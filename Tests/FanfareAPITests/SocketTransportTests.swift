import FanfareAPI
import Synchronization
import TestHTTPServer
import Testing

@Suite("Requests over sockets", .timeLimit(.minutes(1))) struct SocketTransportTests {
    private static func api(
        _ server: ScriptedServer,
        timeout: Duration = .seconds(20),
        answerLengthMax: Int = 1 << 20,
        prefix: String = ""
    ) throws -> BrokerAPI {
        var settings = BrokerAPI.Settings()
        settings.timeout = timeout
        // Retries of the transport are not tested here.
        settings.retries = .none
        settings.answerLengthMax = answerLengthMax
        return try BrokerAPI(
            appID: "1",
            key: "k",
            secret: "s",
            url: server.url + prefix,
            settings: settings
        )
    }

    @Test func sendsCompleteRequests() async throws {
        let server = try ScriptedServer { _, _ in .answer(response("{}")) }
        defer { server.stop() }
        try await Self.api(server, prefix: "/push").trigger(
            "e",
            on: "c",
            text: "ż",
            key: "k1"
        )
        let request = try #require(server.received.first)
        #expect(request.requestLine.hasPrefix("POST /push/apps/1/events?auth_key=k&"))
        #expect(request.requestLine.hasSuffix(" HTTP/1.1"))
        #expect(request.head.contains("\r\nHost: 127.0.0.1:\(server.port)\r\n"))
        #expect(request.head.contains("\r\nContent-Type: application/json"))
        #expect(
            request.body
                == #"{"channels":["c"],"name":"e","data":"ż","idempotency_key":"k1"}"#
        )
    }

    @Test func keepsConnectionsOpen() async throws {
        let server = try ScriptedServer { _, _ in .answer(response("{}")) }
        defer { server.stop() }
        let api = try Self.api(server)
        let start = ContinuousClock.now
        for _ in 0..<5 { try await api.trigger("e", on: "c", text: "") }
        #expect(server.received.count == 5)
        // Inconclusive if the machine was so busy that a connection became idle between the calls.
        if ContinuousClock.now - start < SocketTransport.idleTimeout {
            #expect(server.connectionCount == 1)
        }
    }

    @Test func connectsAnewWhenTheServerWillNotGoOn() async throws {
        let server = try ScriptedServer { _, index in
            index == 0
                ? .answerAndClose(response("{}", fields: "Connection: close\r\n"))
                : .answer(response("{}"))
        }
        defer { server.stop() }
        let api = try Self.api(server)
        for _ in 0..<3 { try await api.trigger("e", on: "c", text: "") }
        #expect(server.received.map(\.connection) == [0, 1, 1])
    }

    @Test(
        "A response is parsed in any segmentation",
        arguments: [
            response(#"{"channels":{}}"#),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"cha\r\nA\r\nnnels\":{}}\r\n0\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n" + response(#"{"channels":{}}"#),
        ]
    )
    func readsAnswers(answer: String) async throws {
        let server = try ScriptedServer { _, index in
            index == 0 ? .answer(answer) : .trickle(answer)
        }
        defer { server.stop() }
        let api = try Self.api(server)
        for _ in 0..<2 { #expect(try await api.channels().isEmpty) }
        #expect(server.connectionCount == 1)
    }

    @Test func readsAnswersThatEndWithTheConnection() async throws {
        let server = try ScriptedServer { _, _ in
            .answerAndClose("HTTP/1.0 200 OK\r\n\r\n{\"channels\":{}}")
        }
        defer { server.stop() }
        let api = try Self.api(server)
        for _ in 0..<2 { #expect(try await api.channels().isEmpty) }
        #expect(server.connectionCount == 2)
    }

    @Test func repeatsAQueryOnceOverAStaleConnection() async throws {
        // The second request finds the kept connection closed; the third is its retry.
        let server = try ScriptedServer { _, index in
            index == 1 ? .close : .answer(response(#"{"channels":{}}"#))
        }
        defer { server.stop() }
        let api = try Self.api(server)
        for _ in 0..<2 { #expect(try await api.channels().isEmpty) }
        #expect(server.received.map(\.connection) == [0, 0, 1])
    }

    @Test func neverRepeatsAnEvent() async throws {
        let server = try ScriptedServer { _, index in
            index == 1 ? .close : .answer(response("{}"))
        }
        defer { server.stop() }
        let api = try Self.api(server)
        try await api.trigger("e", on: "c", text: "1")
        let error = await #expect(throws: FanfareAPIError.self) {
            try await api.trigger("e", on: "c", text: "2")
        }
        // The broker has read it: a retry would deliver it twice.
        #expect(error?.mayHaveArrived == true)
        #expect(server.received.count == 2)
    }

    @Test func neverRepeatsOverAFreshConnection() async throws {
        let server = try ScriptedServer { _, _ in .close }
        defer { server.stop() }
        let api = try Self.api(server)
        let error = await #expect(throws: FanfareAPIError.self) {
            try await api.trigger("e", on: "c", text: "")
        }
        guard case .connectionLost = error else {
            Issue.record("expected .connectionLost, not \(String(describing: error))")
            return
        }
        #expect(error?.mayHaveArrived == true)
        #expect(server.received.count == 1)
    }

    @Test func neverRepeatsOnceAnAnswerHasBegun() async throws {
        let server = try ScriptedServer { _, index in
            index == 0 ? .answer(response("{}")) : .answerAndClose("HTTP/1.1 2")
        }
        defer { server.stop() }
        let api = try Self.api(server)
        try await api.trigger("e", on: "c", text: "")
        await #expect(throws: FanfareAPIError.self) {
            try await api.trigger("e", on: "c", text: "")
        }
        #expect(server.received.count == 2)
    }

    @Test func doesNotUseAConnectionThatTheServerClosed() async throws {
        let server = try ScriptedServer { _, _ in .answerAndClose(response("{}")) }
        defer { server.stop() }
        let api = try Self.api(server)
        for number in 1...4 {
            try await api.trigger("e", on: "c", text: "")
            // An event sent while the close is in flight would fail with an error.
            while server.endedCount < number { await Task.yield() }
        }
        #expect(server.received.count == 4)
    }

    @Test func reportsAClosedPort() async throws {
        let server = try ScriptedServer { _, _ in .close }
        let api = try Self.api(server)
        server.stop()
        // The port is free as soon as the listener has noticed.
        var error: FanfareAPIError?
        for _ in 0..<100 {
            error = await #expect(throws: FanfareAPIError.self) {
                try await api.trigger("e", on: "c", text: "")
            }
            if case .unreachable = error { break }
        }
        guard case .unreachable(let reason) = error else {
            Issue.record("expected .unreachable, not \(String(describing: error))")
            return
        }
        #expect(reason.contains("127.0.0.1:\(server.port)"))
        #expect(error?.mayHaveArrived == false)
    }

    @Test func reportsAnUnknownHost() async throws {
        let api = try BrokerAPI(
            appID: "1",
            key: "k",
            secret: "s",
            url: "http://no-such-host.invalid:6001"
        )
        let error = await #expect(throws: FanfareAPIError.self) { try await api.channels() }
        guard case .unreachable(let reason) = error else {
            Issue.record("expected .unreachable, not \(String(describing: error))")
            return
        }
        #expect(reason.contains("no-such-host.invalid"))
    }

    @Test func timesOut() async throws {
        let server = try ScriptedServer { _, _ in .silence }
        defer { server.stop() }
        let limit = Duration.milliseconds(500)
        let api = try Self.api(server, timeout: limit)
        await #expect(throws: FanfareAPIError.timedOut(after: limit, mayHaveArrived: true)) {
            try await api.trigger("e", on: "c", text: "")
        }
    }

    @Test func endsWhenItsTaskIsCancelled() async throws {
        let arrived = AsyncStream<Void>.makeStream()
        let server = try ScriptedServer { _, _ in
            arrived.continuation.yield()
            return .silence
        }
        defer { server.stop() }
        let api = try Self.api(server)
        let task = Task { try await api.trigger("e", on: "c", text: "") }
        for await _ in arrived.stream { break }
        task.cancel()
        await #expect(throws: FanfareAPIError.cancelled(mayHaveArrived: true)) {
            try await task.value
        }
    }

    @Test func sendsNothingForACancelledTask() async throws {
        let server = try ScriptedServer { _, _ in .silence }
        defer { server.stop() }
        let api = try Self.api(server)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await api.trigger("e", on: "c", text: "")
        }
        await #expect(throws: FanfareAPIError.cancelled(mayHaveArrived: false)) {
            try await task.value
        }
        #expect(server.connectionCount == 0)
    }

    @Test(arguments: [
        response(String(repeating: "x", count: 1001)),
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3E9\r\n",
        "HTTP/1.0 200 OK\r\n\r\n" + String(repeating: "x", count: 1001),
    ])
    func boundsAnswers(answer: String) async throws {
        let server = try ScriptedServer { _, _ in .answer(answer) }
        defer { server.stop() }
        let api = try Self.api(server, answerLengthMax: 1000)
        await #expect(throws: FanfareAPIError.answerTooLong(lengthMax: 1000)) {
            try await api.channels()
        }
    }

    @Test func refusesResponsesThatAreNotHTTP() async throws {
        let server = try ScriptedServer { _, _ in .answer("SSH-2.0-OpenSSH_9.2\r\n\r\n") }
        defer { server.stop() }
        let api = try Self.api(server)
        let error = await #expect(throws: FanfareAPIError.self) { try await api.channels() }
        guard case .unexpectedAnswer = error else {
            Issue.record("expected .unexpectedAnswer, not \(String(describing: error))")
            return
        }
    }

    @Test func closesAConnectionWithUnexpectedBytes() async throws {
        let extra = response("{}") + response(#"{"channels":{"wrong":{}}}"#)
        let server = try ScriptedServer { _, index in
            .answer(index == 0 ? extra : response(#"{"channels":{}}"#))
        }
        defer { server.stop() }
        let api = try Self.api(server)
        try await api.trigger("e", on: "c", text: "")
        #expect(try await api.channels().isEmpty)
        #expect(server.connectionCount == 2)
    }

    @Test func servesManyCallsOverFewConnections() async throws {
        let server = try ScriptedServer { request, _ in
            let name = request.target.split(separator: "?")[0].split(separator: "/").last ?? ""
            return .answer(response("{\"occupied\":true,\"user_count\":\(name.dropFirst())}"))
        }
        defer { server.stop() }
        let api = try Self.api(server)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    try await api.channel("c\(number)").userCount == number
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(server.received.count == 200)
        #expect(server.connectionCount <= SocketTransport.connectionCountMax)
    }
}
