import FanfareTesting
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("A client and its app's backend", .timeLimit(.minutes(1))) struct ClientAuthorizationTests {
    private static let signed = ChannelAuthorization(auth: "app-key:signature")

    private func message(_ channel: String) -> ScriptedConnection.Command {
        .send(
            .subscribe(
                channel: channel,
                auth: "app-key:signature",
                channelData: nil,
                position: PositionRequest()
            )
        )
    }

    @Test func joinsWithTheClosuresSignature() async throws {
        let asked = Seen<String>()
        let bench = Bench {
            $0.authorization.channels = ChannelAuthorizer { request, channel in
                asked.add("\(request.socketID) \(channel)")
                return Self.signed
            }
        }
        let channel = bench.client.subscribe("private-a")
        bench.client.connect()
        let connection = await bench.transport.greet()
        #expect(await connection.next() == message("private-a"))
        connection.deliver(.subscriptionSucceeded(channel: "private-a", data: "{}"))
        try await channel.waitUntilSubscribed()
        #expect(asked.all == ["1.2 private-a"])
    }

    @Test("Channels requested together share one request, if the endpoint supports it")
    func requestsManyChannelsAtOnce() async throws {
        let requests = Seen<[String]>()
        let bench = Bench {
            $0.authorization.channels = ChannelAuthorizer(channelsPerRequestMax: 3) { request in
                requests.add(request.channels)
                return request.channels.reduce(into: [:]) {
                    if $1 != "private-4" { $0[$1] = Self.signed }
                }
            }
        }
        for number in 0..<5 { bench.client.subscribe("private-\(number)") }
        bench.client.subscribe("public")
        bench.client.connect()
        let connection = await bench.transport.greet()
        var sent: [ScriptedConnection.Command] = []
        for _ in 0..<5 { if let command = await connection.next() { sent.append(command) } }
        for number in 0..<4 { #expect(sent.contains(message("private-\(number)"))) }
        // A channel missing from the response is refused.
        await #expect(throws: FanfareError.self) {
            try await bench.client.channel("private-4").waitUntilSubscribed()
        }
        let asked = requests.all.sorted { $0.count > $1.count }
        #expect(asked == [["private-0", "private-1", "private-2"], ["private-3", "private-4"]])
    }

    @Test("A refusal is thrown, reported, and delivered to the channel's callbacks")
    func reportsRefusals() async {
        let (errors, events) = (Seen<FanfareError>(), Seen<String>())
        let failure = AuthorizationFailure.refused(status: 403, body: "not you")
        let bench = Bench {
            $0.authorization.channels = ChannelAuthorizer { _, _ in
                throw AuthorizationRefusal(body: "not you")
            }
        }
        bench.client.onError { errors.add($0) }
        let channel = bench.client.channel("private-a")
        channel.bind("pusher:subscription_error") { events.add($0.data ?? "") }
        channel.subscribe()
        bench.client.connect()
        _ = await bench.transport.greet()
        let error = FanfareError.authorizationFailed(channel: "private-a", failure)
        await #expect(throws: error) { try await channel.waitUntilSubscribed() }
        await errors.wait(for: 1)
        #expect(errors.all == [error])
        #expect(events.all.first?.contains(#""status":403"#) == true)
        // A later wait throws too, instead of waiting for the next connection.
        await #expect(throws: error) { try await channel.waitUntilSubscribed() }
    }

    @Test("The request of an unsubscribed channel is cancelled, and its response dropped")
    func cancels() async {
        let (started, cancelled) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let bench = Bench {
            $0.authorization.channels = ChannelAuthorizer { _, _ in
                await withTaskCancellationHandler {
                    started.continuation.yield()
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                } onCancel: {
                    cancelled.continuation.yield()
                }
                return Self.signed
            }
        }
        bench.client.subscribe("private-a")
        bench.client.connect()
        let connection = await bench.transport.greet()
        var starts = started.stream.makeAsyncIterator()
        var cancellations = cancelled.stream.makeAsyncIterator()
        await starts.next()
        bench.client.channel("private-a").unsubscribe()
        await cancellations.next()
        bench.client.subscribe("private-b")
        await starts.next()
        bench.client.disconnect()
        await cancellations.next()
        #expect(await connection.next() == .close(code: 1000))
        #expect(bench.client.status == .disconnected)
    }

    @Test("Requests are retried by the client's clock")
    func asksAgain() async throws {
        let attempts = Seen<Int>()
        let bench = Bench {
            $0.authorization.backoff = Backoff(
                floor: .seconds(2),
                window: .zero,
                cap: .seconds(2)
            )
            $0.authorization.channels = ChannelAuthorizer { _, _ in
                attempts.add(1)
                guard attempts.all.count > 1 else {
                    throw AuthorizationFailure.refused(status: 502, body: "")
                }
                return Self.signed
            }
        }
        bench.client.subscribe("private-a")
        bench.client.connect()
        let connection = await bench.transport.greet()
        try await bench.clock.waitForSleep(of: .seconds(2))
        bench.clock.advance(by: .seconds(2))
        #expect(await connection.next() == message("private-a"))
    }

    /// A client with an encrypted channel, whose authorizer signs once, and then acts as given.
    private func encrypted(
        _ attempts: Seen<Int>,
        then act: @escaping @Sendable () async throws -> Void
    ) async -> (Bench, ScriptedConnection) {
        let bench = Bench {
            $0.decrypter = ReversingDecrypter()
            $0.authorization.channels = ChannelAuthorizer { _, _ in
                attempts.add(1)
                if attempts.all.count > 1 { try await act() }
                return ChannelAuthorization(auth: "app-key:signature", sharedSecret: "old")
            }
        }
        let channel = "private-encrypted-a"
        bench.client.subscribe(channel)
        bench.client.connect()
        let connection = await bench.transport.greet()
        #expect(await connection.next() == message(channel))
        connection.deliver(.subscriptionSucceeded(channel: channel, data: "{}"))
        return (bench, connection)
    }

    @Test("An event under a foreign key waits for one attempt at a new key, for three seconds")
    func boundsAKeyRequestInTime() async throws {
        let (attempts, texts, errors) = (Seen<Int>(), Seen<String?>(), Seen<FanfareError>())
        let (bench, connection) = await encrypted(attempts) {
            for await _ in AsyncStream<Void>.makeStream().stream {}
        }
        bench.client.channel("private-encrypted-a").bind("e") { texts.add($0.data) }
        bench.client.onError { errors.add($0) }
        connection.event("e", "private-encrypted-a", "other:1")
        connection.event("e", "private-encrypted-a", "old:2")
        try await bench.clock.waitForSleep(of: .seconds(3))
        #expect(texts.all.isEmpty)
        bench.clock.advance(by: .seconds(3))
        await texts.wait(for: 1)
        await errors.wait(for: 2)
        #expect(texts.all == ["2"] && attempts.all.count == 2)
        #expect(errors.all.map(\.code) == [.authorizationFailed, .undecryptable])
    }

    @Test("A request for a new key that fails is not repeated")
    func doesNotRepeatAKeyRequest() async throws {
        let (attempts, texts, errors) = (Seen<Int>(), Seen<String?>(), Seen<FanfareError>())
        let (bench, connection) = await encrypted(attempts) {
            throw AuthorizationFailure.refused(status: 502, body: "")
        }
        bench.client.channel("private-encrypted-a").bind("e") { texts.add($0.data) }
        bench.client.onError { errors.add($0) }
        for text in ["other:1", "old:2", "other:3"] {
            connection.event("e", "private-encrypted-a", text)
        }
        await texts.wait(for: 1)
        await errors.wait(for: 3)
        #expect(texts.all == ["2"] && attempts.all.count == 2)
        #expect(
            errors.all.map(\.code) == [.authorizationFailed, .undecryptable, .undecryptable]
        )
    }

    @Test("The number of requests in flight is bounded")
    func boundsRequests() async {
        let (running, most) = (Seen<Int>(), Seen<Int>())
        let gate = AsyncStream<Void>.makeStream()
        let bench = Bench {
            $0.authorization.channels = ChannelAuthorizer { _, channel in
                running.add(1)
                most.add(running.all.count)
                if channel == "private-0" { for await _ in gate.stream {} }
                return Self.signed
            }
        }
        for number in 0..<100 { bench.client.subscribe("private-\(number)") }
        bench.client.connect()
        let connection = await bench.transport.greet()
        for _ in 0..<99 { _ = await connection.next() }
        gate.continuation.finish()
        #expect(await connection.next() == message("private-0"))
        #expect(running.all.count == 100)
    }
}
