import FanfareClient
import FanfareTesting
import Synchronization
import Testing

@Suite("A scripted broker", .timeLimit(.minutes(1))) @MainActor struct ScriptedBrokerTests {
    private let clients = ClientsOfTest()

    private struct User: Codable, Equatable, Sendable {
        var name: String
    }

    /// A connected client that records all events of its channels.
    private func recordingClient(
        _ broker: ScriptedBroker,
        _ channels: String...
    ) async throws -> (client: Fanfare, received: ReceivedEvents) {
        let client = clients.add(to: broker)
        let received = ReceivedEvents()
        for channel in channels {
            let before = broker.subscribers(of: channel).count
            client.channel(channel).bind { received.add($0) }
            client.subscribe(channel)
            client.connect()
            try await broker.waitForSubscribers(before + 1, to: channel)
        }
        try await broker.settle()
        return (client, received)
    }

    @Test func deliversAnEventToSubscribers() async throws {
        let broker = ScriptedBroker()
        let (client, received) = try await recordingClient(broker, "userslist")
        let (other, otherHeard) = try await recordingClient(broker, "elsewhere")
        try broker.trigger("addUser", on: "userslist", data: User(name: "Ann"))
        try await broker.settle()
        #expect(received.names == ["pusher:subscription_succeeded", "addUser"])
        #expect(try received.all.last?.decode(User.self) == User(name: "Ann"))
        #expect(otherHeard.names == ["pusher:subscription_succeeded"])
        #expect(broker.subscribers(of: "userslist") == [client.socketID])
        #expect(broker.connections.map(\.channels) == [["userslist"], ["elsewhere"]])
        client.disconnect()
        other.disconnect()
        #expect(broker.connections.isEmpty)
    }

    @Test func leavesTheMachinesNetworkAlone() {
        #expect(!ScriptedBroker().clientOptions().network.checksConnectionOnChange)
    }

    @Test func excludesTheClientThatABackendNames() async throws {
        let broker = ScriptedBroker()
        let (client, received) = try await recordingClient(broker, "a")
        let (_, otherHeard) = try await recordingClient(broker, "a")
        try broker.trigger("e", on: ["a", "b"], text: "1", except: client.socketID)
        try await broker.settle()
        #expect(!received.names.contains("e"))
        #expect(otherHeard.names.contains("e"))
    }

    @Test func refusesWhatTheRealOneRefuses() throws {
        var settings = ScriptedBroker.Settings()
        settings.dataLengthMax = 3
        let broker = ScriptedBroker(settings)
        try broker.trigger("e", on: ["a"], text: "123")
        for (channel, text, status) in [("a", "1234", 413), ("a b", "1", 400), ("", "1", 400)] {
            let error = #expect(throws: FanfareTestingError.self) {
                try broker.trigger("e", on: [channel], text: text)
            }
            guard case .refused(status, _) = error else {
                Issue.record("\(channel) with \(text): \(String(describing: error))")
                continue
            }
        }
        #expect(throws: FanfareTestingError.self) {
            try broker.trigger("e", on: "a", data: Double.nan)
        }
    }

    @Test func deliversClientEventsToOtherSubscribers() async throws {
        let broker = ScriptedBroker()
        let ann = clients.addRaw(to: broker)
        let ben = clients.addRaw(to: broker)
        for client in [ann, ben] { await client.subscribe("presence-a") }
        ann.send(
            #"{"event":"client-typing","channel":"presence-a","data":{"n":1}}"#
        )
        try await broker.settle()
        #expect(
            ben.received.last
                == #"{"event":"client-typing","channel":"presence-a","data":"{\"n\":1}","user_id":"1.1"}"#
        )
        #expect(!ann.received.contains { $0.contains("client-typing") })
        #expect(broker.clientEvents("client-typing", on: "presence-a") == [#"{"n":1}"#])
        #expect(broker.clientEvents("client-other", on: "presence-a") == [])
    }

    @Test func refusesClientEventsThatARealOneRefuses() async throws {
        var settings = ScriptedBroker.Settings()
        settings.clientEventsPerSecondMax = 1
        let broker = ScriptedBroker(settings)
        let client = clients.addRaw(to: broker)
        await client.subscribe("public")
        client.send(#"{"event":"client-a","channel":"public","data":"1"}"#)
        client.send(#"{"event":"client-a","channel":"private-elsewhere","data":"1"}"#)
        await client.subscribe("private-a")
        let event = #"{"event":"client-a","channel":"private-a","data":"1"}"#
        client.send(event)
        client.send(event)
        try await broker.settle()
        #expect(client.received.count { $0.contains("pusher:error") } == 3)
        #expect(client.received.last?.contains("4301") == true)
        // The rate limit uses the test's clock.
        try await broker.advance(by: .seconds(1))
        client.send(event)
        try await broker.settle()
        #expect(client.received.count { $0.contains("pusher:error") } == 3)
    }

    @Test func keepsTheRosterOfAPresenceChannel() async throws {
        let broker = ScriptedBroker()
        let (ann, ben) = (clients.addRaw(to: broker), clients.addRaw(to: broker))
        await ann.subscribe("presence-a", as: #"{"user_id":"ann","user_info":{"age":7}}"#)
        await ben.subscribe("presence-a", as: #"{"user_id":"ben"}"#)
        #expect(broker.members(of: "presence-a") == ["ann", "ben"])
        #expect(ann.received.last?.contains("pusher_internal:member_added") == true)
        #expect(ben.received.last?.contains(#"\"ids\":[\"ann\",\"ben\"]"#) == true)
        // A second connection of a member is not a second member.
        let again = clients.addRaw(to: broker)
        await again.subscribe("presence-a", as: #"{"user_id":"ben"}"#)
        try broker.cut("2.1")
        try await broker.settle()
        #expect(broker.members(of: "presence-a") == ["ann", "ben"])
        again.close()
        try await broker.settle()
        #expect(broker.members(of: "presence-a") == ["ann"])
        #expect(ann.received.last?.contains("pusher_internal:member_removed") == true)
        #expect(ann.received.count { $0.contains("member_added") } == 1)
    }

    @Test func checksSignaturesIfConfigured() async throws {
        var settings = ScriptedBroker.Settings()
        settings.authorization = .signed
        let broker = ScriptedBroker(settings)
        let client = clients.addRaw(to: broker)
        await client.subscribe("private-a")
        #expect(client.received.count { $0.contains("pusher:subscription_error") } == 1)
        let auth = try broker.authorization(of: "1.1", for: "private-a")
        await client.subscribe("private-a", auth: auth)
        #expect(broker.subscribers(of: "private-a") == ["1.1"])
        // The same signature is invalid for another channel.
        await client.subscribe("private-b", auth: auth)
        #expect(broker.subscribers(of: "private-b") == [])
        #expect(throws: FanfareTestingError.noConnection(socketID: "x")) {
            try broker.authorization(of: "x", for: "private-a")
        }
    }

    @Test(arguments: [ScriptedBroker.Settings.Authorization.any, .signed])
    func authorizesItsClientsAsTheirUsers(
        authorization: ScriptedBroker.Settings.Authorization
    ) async throws {
        var settings = ScriptedBroker.Settings()
        settings.authorization = authorization
        let broker = ScriptedBroker(settings)
        let ann = clients.add(to: broker, as: "ann") { options in
            options.authorization.user = broker.userAuthenticator(
                as: "ann",
                info: #"{"age":7}"#,
                watchlist: ["ben"]
            )
        }
        let ben = clients.add(to: broker, as: "ben")
        for client in [ann, ben] {
            client.subscribe("presence-a")
            client.signIn()
            client.connect()
        }
        try await broker.waitForSubscribers(2, to: "presence-a")
        #expect(broker.members(of: "presence-a") == ["ann", "ben"])
        try await broker.wait(for: "both to be signed in") {
            Set(broker.connections.map(\.user)) == ["ann", "ben"]
        }
        #expect(try await ann.waitUntilSignedIn().data.contains(#""user_info":{"age":7}"#))
        try await broker.wait(for: "Ben to be seen online") {
            ann.user.watchlist.online == ["ben"]
        }
        try ann.channel("presence-a").trigger("client-hello", 1)
        try await broker.wait(for: "the greeting") {
            broker.clientEvents("client-hello", on: "presence-a") == ["1"]
        }
    }

    @Test func signsUsersInAndReportsTheirPresence() async throws {
        let broker = ScriptedBroker()
        let ann = clients.addRaw(to: broker)
        await ann.signIn(#"{"id":"ann","watchlist":["ben"]}"#)
        #expect(ann.received.last?.contains(#""name":"offline","user_ids":["ben"]"#) == true)
        let ben = clients.addRaw(to: broker)
        await ben.signIn(#"{"id":"ben"}"#)
        #expect(ann.received.last?.contains(#""name":"online","user_ids":["ben"]"#) == true)
        #expect(broker.connections.map(\.user) == ["ann", "ben"])
        await ben.subscribe("#server-to-user-ben")
        try broker.trigger("news", toUser: "ben", data: 1)
        try await broker.settle()
        #expect(ben.received.last?.contains(#""event":"news""#) == true)
        broker.terminateConnections(of: "ben")
        try await broker.settle()
        #expect(
            ben.closure
                == .closeFrame(code: 4009, reason: "The app has closed this user's connections")
        )
        // A user that returns within three seconds has not been offline.
        try await broker.advance(by: .seconds(2))
        #expect(ann.received.last?.contains(#""name":"online""#) == true)
        try await broker.advance(by: .seconds(1))
        #expect(ann.received.last?.contains(#""name":"offline""#) == true)
    }

    @Test func opensACacheChannelWithItsLastEvent() async throws {
        let broker = ScriptedBroker()
        let (_, missed) = try await recordingClient(broker, "cache-a")
        #expect(missed.names == ["pusher:subscription_succeeded", "pusher:cache_miss"])
        try broker.trigger("price", on: "cache-a", data: 7)
        let (_, received) = try await recordingClient(broker, "cache-a")
        #expect(received.names == ["pusher:subscription_succeeded", "price"])
        try await broker.advance(by: .seconds(1_800))
        let (_, late) = try await recordingClient(broker, "cache-a")
        #expect(late.names == ["pusher:subscription_succeeded", "pusher:cache_miss"])
    }

    @Test func sendsSubscriptionCountsIfConfigured() async throws {
        var settings = ScriptedBroker.Settings()
        settings.sendsSubscriptionCounts = true
        let broker = ScriptedBroker(settings)
        let (_, received) = try await recordingClient(broker, "a")
        let (other, _) = try await recordingClient(broker, "a")
        other.disconnect()
        try await broker.settle()
        let counts = received.all.filter { $0.name == "pusher:subscription_count" }.map(\.data)
        #expect(
            counts == [1, 2, 1].map { #"{"subscription_count":\#($0)}"# }
        )
    }

    @Test func recordsActionsUpToTheLimit() async throws {
        var settings = ScriptedBroker.Settings()
        settings.actionsMax = 3
        let broker = ScriptedBroker(settings)
        let client = clients.addRaw(to: broker)
        try await broker.advance(by: .seconds(5))
        client.send(#"{"event":"pusher:ping"}"#)
        client.send("{")
        client.close(code: 1001)
        #expect(broker.actions.count == 3)
        #expect(broker.actions.first?.kind == .ping)
        #expect(broker.actions.last?.kind == .disconnected(code: 1001))
        #expect(broker.actions.allSatisfy { $0.socketID == "1.1" && $0.time == .seconds(5) })
    }

    @Test func aTimeoutReportsTheLatestActions() async throws {
        let broker = ScriptedBroker()
        let client = clients.addRaw(to: broker)
        await client.subscribe("b")
        let error = await #expect(throws: FanfareTestingError.self) {
            try await broker.waitForSubscribers(to: "a", within: .milliseconds(20))
        }
        let text = try #require(error?.description)
        #expect(text.contains("1 subscribers to a") && text.contains(#"channel: "b""#))
        let waiting = Task { try await broker.waitForSubscribers(to: "a") }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func failsIfEveryMessageIsAnswered() async throws {
        let broker = ScriptedBroker()
        let client = clients.addRaw(to: broker) { client, text in
            if text.contains("pong") || text.contains("established") {
                client.send(#"{"event":"pusher:ping"}"#)
            }
        }
        await #expect(throws: FanfareTestingError.self) { try await broker.settle([]) }
        client.close()
    }
}
