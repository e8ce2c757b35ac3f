import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("Users sign in, Pusher protocol §10.1") struct SignInTests {
    @Test(
        "A sign-in is answered with the user_data that was signed, in an object",
        arguments: [
            #"{ "id":"u-1", "user_info":{"name":"\u00c4nn"} }"#,
            #"{"id":"u-1","user_info":{"name":"Ann \ud83d"}}"#,
        ]
    )
    func success(userData: String) async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.connected()
            try client.send(signInMessage(userData, socketID: socketID))
            #expect(try await client.nextText() == signInSuccess(userData))
        }
    }

    @Test("A sign-in that fails is answered with pusher:error 4009, and the connection stays open")
    func refusals() async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.connected()
            let ann = #"{"id":"ann"}"#
            for message in [
                signInMessage(ann, socketID: socketID, secret: "other"),
                signInMessage(ann, socketID: socketID, key: "other-key"),
                signInMessage(ann, socketID: "1.1"),
                signInMessage(#"{"id":7}"#, socketID: socketID),
                signInMessage(#"{"name":"ann"}"#, socketID: socketID),
                signInMessage("ann", socketID: socketID),
                // The form of the documentation's example, which no library sends.
                signInMessage(ann, socketID: socketID).replacing(
                    "app-key:",
                    with: "app-key::user::"
                ),
            ] {
                try client.send(message)
                try await client.expectError(4009)
            }
            try await client.signIn(as: "ann", socketID: socketID)
        }
    }

    @Test("A second sign-in as another user is refused with 4009, and the first stays in force")
    func secondUser() async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.signedIn(as: "ann")
            try client.send(signInMessage(#"{"id":"bob"}"#, socketID: socketID))
            try await client.expectError(4009)
            try await client.subscribe(to: "#server-to-user-ann")
            try await client.signIn(as: "ann", socketID: socketID)
        }
    }

    @Test("Where the app has no users, a sign-in is answered with pusher:error 4009")
    func featureOff() async throws {
        try await TestBroker.run {
            $0.apps[0].features.users = false
        } _: { broker in
            let (client, socketID) = try await broker.connected()
            try client.send(signInMessage(#"{"id":"ann"}"#, socketID: socketID))
            try await client.expectError(4009)
        }
    }

    @Test("Any active credential signs a sign-in")
    func credentials() async throws {
        try await TestBroker.run {
            $0.apps[0].credentials = [.init(secret: "next"), .init(key: "new-key", secret: "new")]
        } _: { broker in
            for (key, secret) in [
                ("app-key", "app-secret"), ("app-key", "next"), ("new-key", "new"),
            ] {
                let (client, socketID) = try await broker.connected()
                let ann = #"{"id":"ann"}"#
                try client.send(signInMessage(ann, socketID: socketID, key: key, secret: secret))
                #expect(try await client.nextText() == signInSuccess(ann))
            }
        }
    }

    // MARK: - Presence channels, §7.3

    @Test(
        "A signed-in connection joins a presence channel without channel_data, as its user",
        arguments: [1, 3]
    )
    func presence(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            for number in 0..<4 {
                let channel = "presence-\(number)"
                let (watcher, _) = try await broker.joined(channel, as: "zoe")
                let (client, socketID) = try await broker.signedIn(as: "ann", info: #"{"a":1}"#)
                try client.send(subscribeMessage(to: channel, socketID: socketID))
                #expect(try client.presentUsers(try await client.nextText()) == ["ann", "zoe"])
                #expect(
                    try await watcher.nextText() == Notice.added("ann", channel, info: #"{"a":1}"#)
                )
            }
        }
    }

    @Test("Explicit channel_data wins over the sign-in")
    func channelDataWins() async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.signedIn(as: "ann")
            let users = try await client.join("presence-x", as: "bob", socketID: socketID)
            #expect(users == ["bob"])
        }
    }

    @Test("Without a sign-in, a presence channel is not joined without channel_data")
    func presenceOfNobody() async throws {
        try await TestBroker.run { broker in
            let (client, socketID) = try await broker.connected()
            try client.send(subscribeMessage(to: "presence-x", socketID: socketID))
            #expect(try await client.nextText().contains(#"\"type\":\"AuthError\""#))
            #expect(try await client.nextText().contains(#""code":null"#))
            try await client.signIn(as: "ann", socketID: socketID)
            try client.send(subscribeMessage(to: "presence-x", socketID: socketID))
            #expect(try client.presentUsers(try await client.nextText()) == ["ann"])
        }
    }
}
