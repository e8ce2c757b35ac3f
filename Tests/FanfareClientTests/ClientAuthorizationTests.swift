import FanfareTesting
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("A client and its app's backend", .timeLimit(.minutes(1))) struct ClientAuthorizationTests {
    private static let signed = ChannelAuthorization(auth: "app-key:signature")

    private func message(_ channel: String) -> ScriptedConnection.Command {
        .send(.subscribe(channel: channel, auth: "app-key:signature", channelData: nil))
    }

    @Test func joinsWithTheClosuresSignature() async throws {
        let asked = Seen<String>()
        let bench = Bench {
            $0.channelAuthorizer = ChannelAuthorizer { request, channel in
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
            $0.channelAuthorizer = ChannelAuthorizer(channelsPerRequestMax: 3) { request in
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
            $0.channelAuthorizer = ChannelAuthorizer { _, _ in throw failure }
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
            $0.channelAuthorizer = ChannelAuthorizer { _, _ in
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
        bench.client.unsubscribe("private-a")
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
            $0.authorizationRetries.backoff = Backoff(
                floor: .seconds(2),
                window: .zero,
                cap: .seconds(2)
            )
            $0.channelAuthorizer = ChannelAuthorizer { _, _ in
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
            $0.channelAuthorizer = ChannelAuthorizer { _, _ in
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
            $0.channelAuthorizer = ChannelAuthorizer { _, channel in
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

    @Test func signsInAndReportsTheUser() async throws {
        let (users, events, changes) = (Seen<String>(), Seen<String?>(), Seen<WatchlistChange>())
        let bench = Bench {
            $0.userAuthenticator = UserAuthenticator { socketID in
                UserAuthentication(auth: "k:\(socketID)", userData: #"{"id":"ann"}"#)
            }
        }
        let user = bench.client.user
        bench.client.onSignIn { users.add($0.id) }
        user.bind("e") { events.add($0.data) }
        user.onWatchlistChange { changes.add($0) }
        var sequence = user.deliveries("e").makeAsyncIterator()
        await #expect(throws: FanfareError.self) { try await bench.client.waitUntilSignedIn() }
        bench.client.signIn()
        bench.client.connect()
        let connection = await bench.transport.greet()
        let userData = #"{"id":"ann"}"#
        #expect(await connection.next() == .send(.signin(auth: "k:1.2", userData: userData)))
        connection.deliver(.signinSuccess(userData: userData))
        #expect(try await bench.client.waitUntilSignedIn().id == "ann")
        #expect(user.isSignedIn && user.current?.id == "ann")
        #expect(await connection.confirm("#server-to-user-ann"))
        connection.event("e", "#server-to-user-ann", "1")
        connection.event("e", "#server-to-user-bob", "2")
        connection.deliver(.watchlist(online: ["bob"], offline: ["cid"]))
        await changes.wait(for: 1)
        #expect(users.all == ["ann"])
        #expect(events.all == ["1"])
        #expect(try await sequence.event()?.data == "1")
        #expect(user.watchlist.online == ["bob"])
        var watchlists = user.watchlists().makeAsyncIterator()
        #expect(await watchlists.next()?.offline == ["cid"])
        connection.deliver(.watchlist(online: ["cid"], offline: []))
        #expect(await watchlists.next()?.online == ["bob", "cid"])
        bench.client.disconnect()
        #expect(!user.isSignedIn)
    }

    @Test("Callbacks and sequences receive the list of members first, then the changes")
    func reportsPresence() async throws {
        let (joined, left) = (Seen<String>(), Seen<String>())
        let bench = Bench {
            $0.channelAuthorizer = ChannelAuthorizer { _, _ in
                ChannelAuthorization(auth: "a", channelData: #"{"user_id":"ann"}"#)
            }
        }
        let presence = bench.client.subscribe("presence-a").presence
        let token = presence.onJoin { joined.add($0.id) }
        presence.onLeave { left.add($0.id) }
        var early = presence.changes.makeAsyncIterator()
        bench.client.connect()
        let connection = await bench.transport.greet()
        _ = await connection.next()
        let data = #"{"presence":{"ids":["ann"],"hash":{"ann":{"n":1}},"count":1}}"#
        connection.deliver(.subscriptionSucceeded(channel: "presence-a", data: data))
        #expect(try await early.next()?.roster.members.map(\.id) == ["ann"])
        struct Info: Decodable { var n: Int }
        #expect(try presence.me?.decodeInfo(Info.self).n == 1)
        var late = presence.changes.makeAsyncIterator()
        #expect(try await late.next()?.roster.count == 1)
        connection.deliver(.memberAdded(channel: "presence-a", userID: "bob", userInfo: nil))
        #expect(try await late.next()?.joined.map(\.id) == ["bob"])
        connection.deliver(.memberRemoved(channel: "presence-a", userID: "bob"))
        await left.wait(for: 1)
        #expect(joined.all == ["bob"] && left.all == ["bob"])
        #expect(presence.members.map(\.id) == ["ann"])
        token.cancel()
        connection.deliver(.memberAdded(channel: "presence-a", userID: "cid", userInfo: nil))
        connection.deliver(.memberRemoved(channel: "presence-a", userID: "cid"))
        await left.wait(for: 2)
        #expect(joined.all == ["bob"])
        bench.client.unsubscribe("presence-a")
        // What this reader has not seen meanwhile is one change: cid has come and gone.
        let missed = try await late.next()
        #expect(missed?.joined == [] && missed?.left.map(\.id) == ["bob"])
        #expect(try await late.next() == nil)
        #expect(presence.roster == nil)
    }

    @Test func reportsSubscriptionCountsAndCacheMisses() async throws {
        let bench = Bench()
        let (counts, misses) = (Seen<Int>(), Seen<Void>())
        let channel = bench.client.channel("cache-a")
        channel.onSubscriptionCount { counts.add($0) }
        channel.onCacheMiss { misses.add(()) }
        let connection = await bench.subscribe(to: "cache-a")
        #expect(channel.subscriptionCount == nil)
        connection.deliver(.cacheMiss(channel: "cache-a"))
        connection.deliver(.subscriptionCount(channel: "cache-a", count: 3))
        await counts.wait(for: 1)
        #expect(counts.all == [3] && misses.all.count == 1)
        #expect(channel.subscriptionCount == 3)
    }

    @Test func sendsClientEvents() async throws {
        struct Typing: Codable { var who: String }
        let bench = Bench { $0.channelAuthorizer = ChannelAuthorizer { _, _ in Self.signed } }
        let channel = bench.client.subscribe("private-a")
        let first = try channel.trigger("client-typing", Typing(who: "ann"))
        bench.client.connect()
        let connection = await bench.transport.greet()
        #expect(await connection.next() == message("private-a"))
        connection.deliver(.subscriptionSucceeded(channel: "private-a", data: "{}"))
        func sent() async -> String? {
            guard case .send(.clientEvent(let event)) = await connection.next() else { return nil }
            return "\(event.name) \(event.data ?? "")"
        }
        #expect(await sent() == #"client-typing {"who":"ann"}"#)
        #expect(try await first.delivery() == .sent)
        let second = try channel.trigger(EventName<Typing>("client-typing"), Typing(who: "b"))
        #expect(try await second.delivery() == .sent)
        #expect(await sent() == #"client-typing {"who":"b"}"#)
        try channel.trigger("client-raw", json: "[1, 2]")
        #expect(await sent() == "client-raw [1, 2]")
        #expect(throws: FanfareError.self) { try channel.trigger("client-raw", json: "{") }
        #expect(throws: FanfareError.self) { try channel.trigger("raw", 1) }
        #expect(throws: FanfareError.self) {
            try bench.client.channel("a").trigger("client-e", 1)
        }
    }

    @Test("Client events that wait for the rate limit are sent by the client's clock")
    func pacesClientEvents() async throws {
        let bench = Bench {
            $0.channelAuthorizer = ChannelAuthorizer { _, _ in Self.signed }
            $0.clientEventsPerSecond = 1
        }
        let channel = bench.client.subscribe("private-a")
        bench.client.connect()
        let connection = await bench.transport.greet()
        #expect(await connection.next() == message("private-a"))
        connection.deliver(.subscriptionSucceeded(channel: "private-a", data: "{}"))
        #expect(try await channel.trigger("client-e", 1).delivery() == .sent)
        try channel.trigger("client-e", 2)
        try await bench.clock.waitForSleep(of: .milliseconds(1001))
        bench.clock.advance(by: .milliseconds(1001))
        for _ in 1...2 {
            guard case .send(.clientEvent) = await connection.next() else {
                Issue.record("an event should leave")
                return
            }
        }
    }
}
