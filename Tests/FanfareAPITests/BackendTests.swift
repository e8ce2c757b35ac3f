import FanfareAPI
import FanfareClient
import FanfareEncryption
import Foundation
import TestBroker
import Testing

/// A backend and its clients, with a real broker.
@Suite("A backend with a broker", .timeLimit(.minutes(1))) struct BackendTests {
    private struct Place {
        let broker: TestBroker
        let api: BrokerAPI
    }

    private static func withBroker(_ body: (Place) async throws -> Void) async throws {
        let broker = try await TestBroker.start()
        var settings = BrokerAPI.Settings()
        settings.sealer = MasterKey.random()
        let api = try BrokerAPI(
            appID: "1",
            key: "app-key",
            secret: "app-secret",
            url: "http://127.0.0.1:\(broker.port)",
            settings: settings
        )
        try await body(Place(broker: broker, api: api))
        await broker.stop()
    }

    /// Returns a client that the backend authorises for every channel as a user.
    private static func client(_ place: Place, as user: String) -> Fanfare {
        var options = ClientOptions()
        let api = place.api
        options.authorization.channels = ChannelAuthorizer { request, channel in
            let grant = try api.authorize(
                channel,
                for: request.socketID,
                as: user,
                info: ["name": user.uppercased()]
            )
            return ChannelAuthorization(
                auth: grant.auth,
                channelData: grant.channelData,
                sharedSecret: grant.sharedSecret
            )
        }
        options.authorization.user = UserAuthenticator { socketID in
            let grant = try api.authenticate(user, for: socketID, info: ["name": user])
            return UserAuthentication(auth: grant.auth, userData: grant.userData)
        }
        options.decrypter = SecretBoxDecrypter()
        return Fanfare(
            key: "app-key",
            endpoint: .plain(host: "127.0.0.1", port: UInt16(place.broker.port)),
            options: options
        )
    }

    @Test(arguments: ["private-a", "private-cache-a", "presence-a", "private-encrypted-a"])
    func authorisesAndReachesClients(channel: String) async throws {
        try await Self.withBroker { place in
            let client = Self.client(place, as: "ann")
            let events = client.channel(channel).subscription().deliveries("e")
            client.connect()
            try await client.channel(channel).waitUntilSubscribed()
            try await place.api.trigger("e", on: channel, data: ["n": 7])
            for try await case .event(let event, _) in events {
                #expect(event.data == #"{"n":7}"#)
                break
            }
            client.disconnect()
        }
    }

    @Test func queriesMembers() async throws {
        try await Self.withBroker { place in
            let clients = ["ann", "ben", "ben"].map { Self.client(place, as: $0) }
            for client in clients {
                client.subscribe("presence-a")
                client.connect()
                try await client.channel("presence-a").waitUntilSubscribed()
            }
            let api = place.api
            #expect(try await Set(api.users(on: "presence-a")) == ["ann", "ben"])
            let state = try await api.channel(
                "presence-a",
                info: [.userCount, .subscriptionCount]
            )
            #expect(state.isOccupied && state.userCount == 2 && state.subscriptionCount == 3)
            let list = try await api.channels(prefix: "presence-", info: [.userCount])
            #expect(list["presence-a"]?.userCount == 2)
            clients[0].subscribe("presence-b")
            try await clients[0].channel("presence-b").waitUntilSubscribed()
            let first = try await api.channels(prefix: "presence-", limit: 1)
            #expect(Array(first.channels.keys) == ["presence-a"])
            let cursor = try #require(first.nextCursor)
            let second = try await api.channels(prefix: "presence-", limit: 1, after: cursor)
            #expect(Array(second.channels.keys) == ["presence-b"])
            #expect(second.nextCursor == nil)
            let told = try await api.trigger(
                "e",
                on: ["presence-a", "b"],
                text: "1",
                info: [.userCount]
            )
            #expect(told["presence-a"]?.userCount == 2)
            for client in clients { client.disconnect() }
        }
    }

    @Test func excludesTheRequestingClient() async throws {
        try await Self.withBroker { place in
            let (asker, other) = (Self.client(place, as: "ann"), Self.client(place, as: "ben"))
            let asked = asker.channel("a").subscription().deliveries("e")
            let others = other.channel("a").subscription().deliveries("e")
            for client in [asker, other] {
                client.subscribe("a")
                client.connect()
                try await client.channel("a").waitUntilSubscribed()
            }
            try await place.api.trigger("e", on: "a", text: "1", except: asker.socketID)
            try await place.api.trigger("e", on: "a", text: "2")
            for (events, first) in [(asked, "2"), (others, "1")] {
                for try await case .event(let event, _) in events {
                    #expect(event.data == first)
                    break
                }
            }
            for client in [asker, other] { client.disconnect() }
        }
    }

    @Test func reachesAndDisconnectsUsers() async throws {
        try await Self.withBroker { place in
            let client = Self.client(place, as: "ann")
            let events = client.user.deliveries("news")
            client.signIn()
            client.connect()
            try await client.waitUntilSignedIn()
            // The user's channel is joined after the sign-in.
            while try await !place.api.channel(BrokerAPI.channel(ofUser: "ann")).isOccupied {
                try await Task.sleep(for: .milliseconds(2))
            }
            try await place.api.trigger("news", toUser: "ann", data: 1)
            for try await case .event(let event, _) in events {
                #expect(event.data == "1")
                break
            }
            try await place.api.terminateConnections(of: "ann")
            for await status in client.statuses() {
                guard case .failed(let error) = status else { continue }
                #expect(error.code == .refused && error.status == 4009)
                break
            }
        }
    }
}
