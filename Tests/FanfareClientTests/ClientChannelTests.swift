import FanfareTesting
import PusherProtocol
import Testing

@testable import FanfareClient

@Suite("What a client does on its channels", .timeLimit(.minutes(1))) struct ClientChannelTests {
    private static let signed = ChannelAuthorization(auth: "app-key:signature")

    @Test func signsInAndReportsTheUser() async throws {
        let (users, events, changes) = (Seen<String>(), Seen<String?>(), Seen<WatchlistChange>())
        let bench = Bench {
            $0.authorization.user = UserAuthenticator { socketID in
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
        #expect(user.current?.id == "ann")
        #expect(await connection.confirm("#server-to-user-ann"))
        connection.event("e", "#server-to-user-ann", "1")
        connection.event("e", "#server-to-user-bob", "2")
        connection.deliver(.watchlist(online: ["bob"], offline: ["cid"]))
        await changes.wait(for: 1)
        #expect(users.all == ["ann"])
        #expect(events.all == ["1"])
        #expect(try await sequence.event()?.data == "1")
        #expect(user.watchlist.online == ["bob"])
        #expect(user.watchlist.offline == ["cid"])
        connection.deliver(.watchlist(online: ["cid"], offline: []))
        await changes.wait(for: 2)
        #expect(user.watchlist.online == ["bob", "cid"])
        bench.client.disconnect()
        #expect(user.current == nil)
    }

    @Test("Callbacks and sequences receive the list of members first, then the changes")
    func reportsPresence() async throws {
        let (joined, left) = (Seen<String>(), Seen<String>())
        let bench = Bench {
            $0.authorization.channels = ChannelAuthorizer { _, _ in
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
        #expect(try presence.roster?.me?.decodeInfo(Info.self).n == 1)
        var late = presence.changes.makeAsyncIterator()
        #expect(try await late.next()?.roster.members.count == 1)
        connection.deliver(.memberAdded(channel: "presence-a", userID: "bob", userInfo: nil))
        #expect(try await late.next()?.joined.map(\.id) == ["bob"])
        connection.deliver(.memberRemoved(channel: "presence-a", userID: "bob"))
        await left.wait(for: 1)
        #expect(joined.all == ["bob"] && left.all == ["bob"])
        #expect(presence.roster?.members.map(\.id) == ["ann"])
        token.cancel()
        connection.deliver(.memberAdded(channel: "presence-a", userID: "cid", userInfo: nil))
        connection.deliver(.memberRemoved(channel: "presence-a", userID: "cid"))
        await left.wait(for: 2)
        #expect(joined.all == ["bob"])
        bench.client.channel("presence-a").unsubscribe()
        // What this reader has not seen meanwhile is one change: cid has come and gone.
        let missed = try await late.next()
        #expect(missed?.joined == [] && missed?.left.map(\.id) == ["bob"])
        #expect(try await late.next() == nil)
        #expect(presence.roster == nil)
    }

    @Test func reportsSubscriptionCountsAndCacheMisses() async throws {
        let bench = Bench()
        let (counts, misses) = (Seen<String?>(), Seen<Void>())
        let channel = bench.client.channel("cache-a")
        channel.bind("pusher:subscription_count") { counts.add($0.data) }
        channel.bind("pusher:cache_miss") { _ in misses.add(()) }
        let connection = await bench.subscribe(to: "cache-a")
        #expect(channel.subscriptionCount == nil)
        connection.deliver(.cacheMiss(channel: "cache-a"))
        connection.deliver(.subscriptionCount(channel: "cache-a", count: 3))
        await counts.wait(for: 1)
        #expect(counts.all == [#"{"subscription_count":3}"#] && misses.all.count == 1)
        #expect(channel.subscriptionCount == 3)
    }

    @Test func sendsClientEvents() async throws {
        struct Typing: Codable { var who: String }
        let bench = Bench { $0.authorization.channels = ChannelAuthorizer { _, _ in Self.signed } }
        let channel = bench.client.subscribe("private-a")
        let first = try channel.trigger("client-typing", Typing(who: "ann"))
        bench.client.connect()
        let connection = await bench.transport.greet()
        #expect(
            await connection.next()
                == .send(
                    .subscribe(
                        channel: "private-a",
                        auth: "app-key:signature",
                        channelData: nil,
                        position: PositionRequest()
                    )
                )
        )
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
            $0.authorization.channels = ChannelAuthorizer { _, _ in Self.signed }
            $0.limits.clientEventsPerSecond = 1
        }
        let channel = bench.client.subscribe("private-a")
        bench.client.connect()
        let connection = await bench.transport.greet()
        #expect(
            await connection.next()
                == .send(
                    .subscribe(
                        channel: "private-a",
                        auth: "app-key:signature",
                        channelData: nil,
                        position: PositionRequest()
                    )
                )
        )
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
