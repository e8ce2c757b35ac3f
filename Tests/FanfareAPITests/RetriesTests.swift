import FanfareAPI
import Synchronization
import Testing

@Suite("Retries of calls", .timeLimit(.minutes(1))) struct RetriesTests {
    /// Fails a number of times, then succeeds.
    private static func transport(
        failing times: Int,
        with error: FanfareAPIError
    ) -> RecordingTransport {
        let left = Atomic(times)
        return RecordingTransport { _ throws(FanfareAPIError) in
            guard left.subtract(1, ordering: .relaxed).oldValue <= 0 else { throw error }
            return APIResponse(status: 200, body: Array("{}".utf8))
        }
    }

    private static func api(
        _ transport: RecordingTransport,
        _ retries: BrokerAPI.Settings.Retries = .init(pause: .zero),
        sendsKeys: Bool = false
    ) throws -> BrokerAPI {
        var settings = BrokerAPI.Settings()
        settings.retries = retries
        settings.sendsKeys = sendsKeys
        // Long enough for a busy machine; no test waits for it.
        settings.timeout = .seconds(600)
        return try BrokerAPI(
            appID: "1",
            key: "k",
            secret: "s",
            transport: transport,
            settings: settings
        )
    }

    static let harmless: [FanfareAPIError] = [
        .unreachable("no"), .timedOut(after: .seconds(600), mayHaveArrived: false),
        .refused(status: 429, message: "slowly"),
    ]
    static let open: [FanfareAPIError] = [
        .connectionLost("gone"), .timedOut(after: .seconds(600), mayHaveArrived: true),
        .refused(status: 500, message: "oh"), .refused(status: 503, message: "later"),
    ]
    static let final: [FanfareAPIError] = [
        .refused(status: 400, message: "no"), .refused(status: 401, message: "no"),
        .refused(status: 413, message: "no"), .unexpectedAnswer("?"),
        .answerTooLong(lengthMax: 1), .cancelled(mayHaveArrived: false),
    ]

    @Test(arguments: harmless + open) func asksAgain(error: FanfareAPIError) async throws {
        let transport = Self.transport(failing: 2, with: error)
        #expect(try await Self.api(transport).channels().isEmpty)
        #expect(transport.requests.count == 3)
        let other = Self.transport(failing: 2, with: error)
        try await Self.api(other).terminateConnections(of: "ann")
        #expect(other.requests.count == 3)
    }

    @Test(arguments: harmless)
    func retriesEventsThatDidNotArrive(error: FanfareAPIError) async throws {
        let transport = Self.transport(failing: 2, with: error)
        try await Self.api(transport).trigger("e", on: "c", text: "1")
        #expect(transport.requests.count == 3)
    }

    @Test(
        "An event with a key that may have arrived is repeated under the same key",
        arguments: open
    )
    func repeatsEventsWithKeys(error: FanfareAPIError) async throws {
        let transport = Self.transport(failing: 2, with: error)
        try await Self.api(transport, sendsKeys: true).trigger("e", on: "c", text: "1")
        let bodies = transport.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.count == 3 && Set(bodies).count == 1)
        #expect(bodies.first?.contains(#""idempotency_key":""#) == true)
    }

    @Test("Without keys it is not repeated", arguments: open)
    func doesNotRetryEventsThatMayHaveArrived(error: FanfareAPIError) async throws {
        let transport = Self.transport(failing: 1, with: error)
        let api = try Self.api(transport)
        await #expect(throws: error) { try await api.trigger("e", on: "c", text: "1") }
        let event = APIEvent("e", on: "c", text: "1")
        let batch = Self.transport(failing: 1, with: error)
        await #expect(throws: error) { try await Self.api(batch).trigger(batch: [event]) }
        #expect(transport.requests.count == 1 && batch.requests.count == 1)
    }

    @Test(arguments: open) func retriesEventsThatMayHaveArrivedIfEnabled(error: FanfareAPIError)
        async throws
    {
        let transport = Self.transport(failing: 1, with: error)
        let retries = BrokerAPI.Settings.Retries(pause: .zero, repeatsTriggers: true)
        try await Self.api(transport, retries).trigger("e", on: "c", text: "1")
        #expect(transport.requests.count == 2)
    }

    @Test(arguments: final) func doesNotRetryPermanentFailures(error: FanfareAPIError) async throws
    {
        let transport = Self.transport(failing: 1, with: error)
        let api = try Self.api(transport)
        await #expect(throws: error) { try await api.channels() }
        #expect(transport.requests.count == 1)
    }

    @Test func throwsTheLastErrorAfterTheLastAttempt() async throws {
        let transport = Self.transport(failing: 9, with: .unreachable("no"))
        let api = try Self.api(transport, .init(attemptCountMax: 4, pause: .zero))
        await #expect(throws: FanfareAPIError.unreachable("no")) { try await api.channels() }
        #expect(transport.requests.count == 4)
        let once = Self.transport(failing: 1, with: .unreachable("no"))
        let single = try Self.api(once, .none)
        await #expect(throws: FanfareAPIError.self) { try await single.channels() }
        #expect(once.requests.count == 1)
    }

    @Test func limitsEachAttemptToTheRemainingTime() async throws {
        let transport = Self.transport(failing: 2, with: .unreachable("no"))
        _ = try await Self.api(transport, .init(pause: .milliseconds(5))).channels()
        let timeouts = transport.requests.map(\.timeout)
        #expect(timeouts.allSatisfy { $0 > .zero && $0 <= .seconds(600) })
        #expect(timeouts == timeouts.sorted(by: >))
    }

    @Test func endsWithItsTask() async throws {
        let transport = Self.transport(failing: 9, with: .unreachable("no"))
        let api = try Self.api(transport, .init(attemptCountMax: 9, pause: .seconds(1)))
        let call = Task { try await api.channels() }
        while transport.requests.isEmpty { await Task.yield() }
        call.cancel()
        await #expect(throws: FanfareAPIError.self) { try await call.value }
        #expect(transport.requests.count < 9)
    }
}
