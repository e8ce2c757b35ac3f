import Broker
import BrokerConfiguration
import FanfareAPI
import FanfareServer
import Logging
import Net
import PusherProtocol
import TestPorts
import Testing

@testable import FanfareClient

/// A broker with all features enabled, and its app's backend.
private struct World {
    let server: BrokerServer
    let port: UInt16
    let api: BrokerAPI

    init(port: UInt16 = freePort()) async throws {
        var app = AppConfiguration.development
        app.features.subscriptionCount = true
        app.features.watchlist = true
        var configuration = Configuration.development
        configuration.port = port
        configuration.loops = 2
        configuration.apps = [app]
        let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        server = try BrokerServer(configuration: configuration, log: log)
        self.port = try #require(try await server.start().plain?.port)
        api = try BrokerAPI(
            appID: "1",
            key: "app-key",
            secret: "app-secret",
            url: "http://127.0.0.1:\(self.port)"
        )
    }

    func client(_ change: (inout ClientOptions) -> Void) -> Fanfare {
        var options = ClientOptions()
        options.reconnection.backoff = Backoff(
            floor: .zero,
            window: .milliseconds(10),
            cap: .milliseconds(20)
        )
        change(&options)
        return Fanfare(
            key: "app-key",
            endpoint: .plain(host: "127.0.0.1", port: port),
            options: options
        )
    }

    func client(of backend: SigningBackend, _ path: String = "/auth") -> Fanfare {
        client {
            $0.authorization.channels = .endpoint(AuthorizationEndpoint(backend.url(path)))
            $0.authorization.user = .endpoint(AuthorizationEndpoint(backend.url("/user")))
        }
    }

    func stop(_ clients: Fanfare..., backends: [SigningBackend]) async {
        for client in clients { client.disconnect() }
        for backend in backends { await backend.stop() }
        await server.stop(within: .seconds(1))
    }
}

@Suite("With a broker and a backend", .timeLimit(.minutes(1))) struct BrokerFeatureTests {
    @Test(
        "Private channels accept the endpoint's signature, with each encoding",
        arguments: [
            AuthorizationEndpoint.Encoding.form, .json,
        ]
    )
    func privateChannels(encoding: AuthorizationEndpoint.Encoding) async throws {
        let world = try await World()
        let backend = try SigningBackend(user: "ann")
        let client = world.client {
            $0.authorization.channels = .endpoint(
                AuthorizationEndpoint(backend.url("/auth?a=1"), encoding: encoding) {
                    ["X-Token": $0.channels.joined()]
                }
            )
        }
        let channel = client.channel("private-cache-a")
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        client.connect()
        try await channel.waitUntilSubscribed()
        try await world.api.trigger("e", on: "private-cache-a", text: "1")
        #expect(try await events.event()?.data == "1")
        let request = try #require(backend.requests.first)
        #expect(request.path == "/auth")
        #expect(request.token == "private-cache-a")
        #expect(
            request.contentType?.hasSuffix(encoding == .json ? "json" : "form-urlencoded") == true
        )
        await world.stop(client, backends: [backend])
    }

    @Test("One request may authorise many channels")
    func manyAtOnce() async throws {
        let world = try await World()
        let backend = try SigningBackend(user: "ann")
        let client = world.client {
            $0.authorization.channels = .endpoint(
                AuthorizationEndpoint(backend.url("/auth"), channelsPerRequestMax: 100)
            )
        }
        let channels =
            (0..<20).map { client.subscribe("private-\($0)") } + [
                client.subscribe("presence-a")
            ]
        client.connect()
        for channel in channels { try await channel.waitUntilSubscribed() }
        #expect(backend.requests.map(\.channels.count) == [21])
        #expect(channels.last?.presence.roster?.me?.id == "ann")
        await world.stop(client, backends: [backend])
    }

    @Test("Requests are retried after a failure, not after a refusal")
    func retries() async throws {
        let world = try await World()
        let failing = try SigningBackend(refusing: [500, 503], user: "ann")
        let refusing = try SigningBackend(refusing: [403], user: "ann")
        func client(_ backend: SigningBackend) -> Fanfare {
            world.client {
                $0.authorization.backoff = Backoff(
                    floor: .zero,
                    window: .milliseconds(5),
                    cap: .milliseconds(5)
                )
                $0.authorization.channels = .endpoint(AuthorizationEndpoint(backend.url("/auth")))
            }
        }
        let (first, second) = (client(failing), client(refusing))
        first.connect()
        second.connect()
        try await first.subscribe("private-a").waitUntilSubscribed()
        #expect(failing.requests.count == 3)
        let failure = AuthorizationFailure.refused(status: 403, body: "not now")
        await #expect(
            throws: FanfareError.authorizationFailed(channel: "private-a", failure)
        ) { try await second.subscribe("private-a").waitUntilSubscribed() }
        #expect(refusing.requests.count == 1)
        // A new subscription sends a new request.
        try await second.subscribe("private-a").waitUntilSubscribed()
        await world.stop(first, second, backends: [failing, refusing])
    }

    @Test("A passed signature authorises this connection")
    func inlineTokens() async throws {
        let world = try await World()
        let client = world.client { _ in }
        client.connect()
        let socketID = try await client.waitUntilConnected()
        let signer = LocalSigner(key: "app-key", secret: "app-secret")
        let id = try #require(SocketID(socketID))
        let auth = try #require(signer.auth(of: "private-a", on: id))
        let channel = client.channel("private-a").subscribe(with: ChannelAuthorization(auth: auth))
        try await channel.waitUntilSubscribed()
        let other = client.channel("private-b").subscribe(with: ChannelAuthorization(auth: auth))
        await #expect(throws: FanfareError.self) { try await other.waitUntilSubscribed() }
        await world.stop(client, backends: [])
    }

    @Test("Presence is exact after joins, leaves and a restart of the broker")
    func presence() async throws {
        let world = try await World()
        let backends = try ["ann", "bob", "cid"].map { try SigningBackend(user: $0) }
        let clients = backends.map { world.client(of: $0) }
        let channels = clients.map { $0.channel("presence-a") }
        var changes = channels[0].presence.changes.makeAsyncIterator()
        channels[0].subscribe()
        clients[0].connect()
        #expect(try await changes.next()?.roster.members.map(\.id) == ["ann"])
        channels[1].subscribe()
        clients[1].connect()
        let bob = try await changes.next()
        #expect(bob?.joined.map(\.id) == ["bob"])
        #expect(bob?.joined.first?.info == #"{"name":"bob!"}"#)
        try await channels[1].waitUntilSubscribed()
        #expect(channels[1].presence.roster?.members.count == 2)
        #expect(channels[1].presence.roster?.me?.id == "bob")

        // Bob has left and cid has joined while ann was not connected.
        clients[1].disconnect()
        #expect(try await changes.next()?.left.map(\.id) == ["bob"])
        await world.server.stop(within: .seconds(5))
        let successor = try await World(port: world.port)
        channels[2].subscribe()
        clients[2].connect()
        var believed: Set<String> = ["ann"]
        while believed != ["ann", "cid"] {
            guard let change = try await changes.next() else { break }
            for member in change.joined { #expect(believed.insert(member.id).inserted) }
            for member in change.left { #expect(believed.remove(member.id) != nil) }
            #expect(Set(change.roster.members.map(\.id)) == believed)
        }
        for client in clients { client.disconnect() }
        await successor.stop(backends: backends)
    }

    @Test("Client events reach the others, with the sender on presence channels")
    func clientEvents() async throws {
        let world = try await World()
        let backends = try ["ann", "bob"].map { try SigningBackend(user: $0) }
        let (ann, bob) = (world.client(of: backends[0]), world.client(of: backends[1]))
        let heard = bob.channel("presence-a")
        var events = heard.subscription().deliveries("client-e").makeAsyncIterator()
        bob.connect()
        try await heard.waitUntilSubscribed()
        let channel = ann.subscribe("presence-a")
        // Queued before the connection, and more than a broker's burst limit.
        for number in 0..<25 { try channel.trigger("client-e", ["n": number]) }
        ann.connect()
        for number in 0..<25 {
            let event = try await events.event()
            #expect(event?.data == "{\"n\":\(number)}")
            #expect(event?.userID == "ann")
        }
        await world.stop(ann, bob, backends: backends)
    }

    @Test("Pieces of text that were cut inside an emoji reach the others, and join")
    func cutText() async throws {
        let world = try await World()
        let backends = try ["ann", "bob"].map { try SigningBackend(user: $0) }
        let (ann, bob) = (world.client(of: backends[0]), world.client(of: backends[1]))
        let heard = bob.channel("private-a")
        var events = heard.subscription().deliveries("client-e").makeAsyncIterator()
        bob.connect()
        try await heard.waitUntilSubscribed()
        let channel = ann.subscribe("private-a")
        ann.connect()
        for json in [#""\ud83d""#, #""\ude00""#] { try channel.trigger("client-e", json: json) }
        let units = [try await events.event()?.codeUnits(), try await events.event()?.codeUnits()]
        #expect(units == [[0xD83D], [0xDE00]])
        #expect(String(decoding: units.flatMap { $0 ?? [] }, as: UTF16.self) == "😀")
        try channel.trigger("client-e", json: #"{"t":"\ud83d"}"#)
        let event = try await events.event()
        #expect(event?.data == #"{"t":"\ud83d"}"#)
        #expect(try event?.decode([String: String].self) == ["t": "\u{FFFD}"])
        await world.stop(ann, bob, backends: backends)
    }

    @Test("A signed-in user receives events and the watchlist")
    func users() async throws {
        let world = try await World()
        let ann = try SigningBackend(user: "ann", watching: ["bob"])
        let bob = try SigningBackend(user: "bob")
        let (client, other) = (world.client(of: ann), world.client(of: bob))
        var events = client.user.deliveries("e").makeAsyncIterator()
        let watched = Seen<WatchlistChange>()
        client.user.onWatchlistChange { watched.add($0) }
        client.signIn()
        client.connect()
        #expect(try await client.waitUntilSignedIn().id == "ann")
        try await client.channel("#server-to-user-ann").waitUntilSubscribed()
        try await world.api.trigger("e", toUser: "ann", text: "1")
        #expect(try await events.event()?.data == "1")

        other.signIn()
        other.connect()
        await eventually("bob is online") {
            watched.all.last?.watchlist.online == ["bob"]
        }
        #expect(client.user.watchlist.online == ["bob"])
        await world.stop(client, other, backends: [ann, bob])
    }

    @Test("A signed-in user joins presence channels, and again after the broker restarts")
    func presenceBySignIn() async throws {
        let world = try await World()
        let backend = try SigningBackend(user: "ann")
        let client = world.client(of: backend, "/nobody")
        let channel = client.channel("presence-a")
        var changes = channel.presence.changes.makeAsyncIterator()
        channel.subscribe()
        client.signIn()
        client.connect()
        #expect(try await changes.next()?.roster.me?.info == #"{"name":"ann!"}"#)
        await world.server.stop(within: .seconds(5))
        let successor = try await World(port: world.port)
        #expect(try await changes.next()?.roster.me?.id == "ann")
        #expect(client.user.current?.id == "ann")
        await successor.stop(client, backends: [backend])
    }

    @Test("A refused sign-in leaves the connection open")
    func refusedUsers() async throws {
        let world = try await World()
        let backend = try SigningBackend(refusing: [401], user: "ann")
        let client = world.client(of: backend)
        client.signIn()
        client.connect()
        await #expect(
            throws: FanfareError.signInFailed(.refused(status: 401, body: "not now"))
        ) { try await client.waitUntilSignedIn() }
        #expect(client.status.isConnected)
        await world.stop(client, backends: [backend])

        let forged = try await World()
        let impostor = forged.client {
            $0.authorization.user = UserAuthenticator { _ in
                UserAuthentication(auth: "app-key:00", userData: #"{"id":"ann"}"#)
            }
        }
        impostor.signIn()
        impostor.connect()
        do {
            try await impostor.waitUntilSignedIn()
            Issue.record("nobody should be signed in")
        } catch let error as FanfareError {
            #expect(error.code == .signInRefused)
        }
        await forged.stop(impostor, backends: [])
    }

    @Test("Subscription counts and cache misses are reported")
    func countsAndCaches() async throws {
        let world = try await World()
        let (first, second) = (world.client { _ in }, world.client { _ in })
        let (counts, misses) = (Seen<String?>(), Seen<Void>())
        let channel = first.channel("cache-a")
        channel.bind("pusher:subscription_count") { counts.add($0.data) }
        channel.bind("pusher:cache_miss") { _ in misses.add(()) }
        channel.subscribe()
        first.connect()
        try await channel.waitUntilSubscribed()
        try await world.api.trigger("e", on: "cache-a", text: "cached")
        var cached = second.channel("cache-a").subscription().deliveries("e").makeAsyncIterator()
        second.connect()
        #expect(try await cached.event()?.data == "cached")
        await counts.wait(for: 2)
        #expect(counts.all == [1, 2].map { #"{"subscription_count":\#($0)}"# })
        #expect(misses.all.count == 1)
        #expect(channel.subscriptionCount == 2)
        await world.stop(first, second, backends: [])
    }
}
