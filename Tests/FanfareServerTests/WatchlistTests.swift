import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("Watchlists, Pusher protocol §10.4") struct WatchlistTests {
    private func run(
        loops: Int,
        _ body: (TestBroker) async throws -> Void
    ) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].features.watchlist = true
        } _: { broker in
            try await body(broker)
        }
    }

    @Test(
        "A watchlist gets the status of its users, then each change",
        arguments: [1, 3]
    )
    func firstStateThenChanges(loops: Int) async throws {
        try await run(loops: loops) { broker in
            let (ann, _) = try await broker.signedIn(as: "ann")
            let (watcher, _) = try await broker.signedIn(
                as: "zoe",
                watching: ["ann", "bob", "cid", "dan"]
            )
            #expect(
                try await watcher.nextText()
                    == watchlistEvents(online: ["ann"], offline: ["bob", "cid", "dan"])
            )
            let (bob, _) = try await broker.signedIn(as: "bob")
            #expect(try await watcher.nextText() == watchlistEvents(online: ["bob"]))
            // A second connection of a user changes nothing, nor does its end.
            let (secondBob, _) = try await broker.signedIn(as: "bob")
            try secondBob.send(opcode: 8, [0x03, 0xE8])
            #expect(try await secondBob.next().opcode == 8)
            try bob.send(opcode: 8, [0x03, 0xE8])
            #expect(try await bob.next().opcode == 8)
            #expect(try await watcher.nextText() == watchlistEvents(offline: ["bob"]))
            try await ann.expectNothing()
            try await watcher.expectNothing()
        }
    }

    @Test("A user that reconnects within three seconds stays online", arguments: [1, 3])
    func grace(loops: Int) async throws {
        try await run(loops: loops) { broker in
            let (watcher, _) = try await broker.signedIn(as: "zoe", watching: ["ann", "bob"])
            #expect(try await watcher.nextText() == watchlistEvents(offline: ["ann", "bob"]))
            let (ann, _) = try await broker.signedIn(as: "ann")
            #expect(try await watcher.nextText() == watchlistEvents(online: ["ann"]))
            let (bob, _) = try await broker.signedIn(as: "bob")
            #expect(try await watcher.nextText() == watchlistEvents(online: ["bob"]))
            let start = ContinuousClock.now
            for client in [ann, bob] {
                try client.send(opcode: 8, [0x03, 0xE8])
                #expect(try await client.next().opcode == 8)
            }
            let (back, _) = try await broker.signedIn(as: "ann")
            // Only the user that stays away is reported as offline.
            #expect(try await watcher.nextText() == watchlistEvents(offline: ["bob"]))
            #expect(ContinuousClock.now - start > .milliseconds(2_900))
            try await watcher.expectNothing()
            try await back.expectNothing()
        }
    }

    @Test(
        "A connection gets the status of its own list only, itself included",
        arguments: [1, 3]
    )
    func ownList(loops: Int) async throws {
        try await run(loops: loops) { broker in
            let (zoe, _) = try await broker.signedIn(as: "zoe", watching: ["zoe", "ann"])
            #expect(
                try await zoe.nextText() == watchlistEvents(online: ["zoe"], offline: ["ann"])
            )
            let (other, _) = try await broker.signedIn(as: "yan", watching: ["bob"])
            #expect(try await other.nextText() == watchlistEvents(offline: ["bob"]))
            let (ann, _) = try await broker.signedIn(as: "ann")
            #expect(try await zoe.nextText() == watchlistEvents(online: ["ann"]))
            try await other.expectNothing()
            try await ann.expectNothing()
        }
    }

    @Test("A second sign-in replaces the list", arguments: [1, 3])
    func secondSignIn(loops: Int) async throws {
        try await run(loops: loops) { broker in
            let (zoe, socketID) = try await broker.signedIn(as: "zoe", watching: ["ann", "bob"])
            #expect(try await zoe.nextText() == watchlistEvents(offline: ["ann", "bob"]))
            try await zoe.signIn(as: "zoe", watching: ["bob", "cid"], socketID: socketID)
            #expect(try await zoe.nextText() == watchlistEvents(offline: ["cid"]))
            let (ann, _) = try await broker.signedIn(as: "ann")
            let (bob, _) = try await broker.signedIn(as: "bob")
            #expect(try await zoe.nextText() == watchlistEvents(online: ["bob"]))
            try await ann.expectNothing()
            try await bob.expectNothing()
        }
    }

    @Test("Of a list of 101 users the first 100 are watched, with 4302")
    func limit() async throws {
        try await run(loops: 1) { broker in
            let users = (1...101).map { "u-\($0)" }
            let (zoe, socketID) = try await broker.signedIn(as: "zoe", watching: users)
            let text = try await zoe.nextText()
            #expect(text.hasPrefix(#"{"event":"pusher:error","data":{"code":4302,"message":""#))
            #expect(text.contains("101") && text.contains("first 100"))
            #expect(try await zoe.nextText() == watchlistEvents(offline: Array(users.prefix(100))))
            try await zoe.signIn(
                as: "zoe",
                watching: Array(users.prefix(100)),
                socketID: socketID
            )
            try await zoe.expectNothing()
        }
    }

    @Test("Where the app has no watchlists, a list is ignored")
    func featureOff() async throws {
        try await TestBroker.run { broker in
            let (zoe, _) = try await broker.signedIn(as: "zoe", watching: ["ann"])
            let (ann, _) = try await broker.signedIn(as: "ann")
            try await ann.expectNothing()
            try await zoe.expectNothing()
        }
    }

    @Test("Users with the same id in two apps are independent")
    func otherApp() async throws {
        try await TestBroker.run(loops: 3) {
            $0.apps[0].features.watchlist = true
            $0.apps.append(AppConfiguration(id: "2", key: "second-key", secret: "app-secret"))
        } _: { broker in
            let (zoe, _) = try await broker.signedIn(as: "zoe", watching: ["ann"])
            #expect(try await zoe.nextText() == watchlistEvents(offline: ["ann"]))
            let other = try await WebSocketWire(
                port: broker.port,
                target: "/app/second-key?protocol=7"
            )
            let ann = #"{"id":"ann"}"#
            let socketID = try await other.socketID()
            try other.send(signInMessage(ann, socketID: socketID, key: "second-key"))
            #expect(try await other.nextText() == signInSuccess(ann))
            try await zoe.expectNothing()
        }
    }
}
