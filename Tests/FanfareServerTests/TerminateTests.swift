import Broker
import BrokerConfiguration
import Testing

@testable import FanfareServer

@Suite("Terminating a user's connections, Pusher protocol §10.5") struct TerminateTests {
    @Test(
        "Every connection that is signed in as the user is closed with 4009",
        arguments: [1, 3],
        ["/apps/1/users/ann/terminate_connections", "/users/ann/terminate_connections"]
    )
    func closes(loops: Int, path: String) async throws {
        try await TestBroker.run(loops: loops) { broker in
            var clients: [WebSocketWire] = []
            for _ in 0..<6 { clients.append(try await broker.signedIn(as: "ann").0) }
            let (bob, _) = try await broker.signedIn(as: "bob")
            let (member, _) = try await broker.joined("presence-x", as: "ann")
            let answer = try await broker.terminate(SignedRequest(path: path, body: "{}"))
            #expect(answer.status == 200)
            #expect(answer.body == "{}")
            for client in clients { try await client.expectEnd(4009) }
            // No other connection, not even a member with that id that has not signed in.
            try await bob.expectNothing()
            try await member.expectNothing()
        }
    }

    @Test("A terminated user leaves the channels, goes offline, and may reconnect")
    func leaves() async throws {
        try await TestBroker.run(loops: 3) {
            $0.apps[0].features.watchlist = true
        } _: { broker in
            let (ann, socketID) = try await broker.signedIn(as: "ann")
            try ann.send(subscribeMessage(to: "presence-x", socketID: socketID))
            _ = try await ann.nextText()
            let (watcher, _) = try await broker.joined("presence-x", as: "bob")
            #expect(try await ann.nextText() == Notice.added("bob", "presence-x"))
            let (zoe, _) = try await broker.signedIn(as: "zoe", watching: ["ann"])
            #expect(try await zoe.nextText() == watchlistEvents(online: ["ann"]))
            let path = "/apps/1/users/ann/terminate_connections"
            _ = try await broker.terminate(SignedRequest(path: path))
            try await ann.expectEnd(4009)
            #expect(try await watcher.nextText() == Notice.removed("ann", "presence-x"))
            #expect(try await zoe.nextText() == watchlistEvents(offline: ["ann"]))
            let (back, _) = try await broker.signedIn(as: "ann")
            try await back.expectNothing()
            #expect(try await zoe.nextText() == watchlistEvents(online: ["ann"]))
        }
    }

    @Test(
        "A user without a connection is no error, and a percent-encoded id means the decoded one",
        arguments: ["nobody", "a%3Db%40c", "a=b@c"]
    )
    func nobody(user: String) async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.signedIn(as: "a=b@c")
            let path = "/apps/1/users/\(user)/terminate_connections"
            let answer = try await broker.terminate(SignedRequest(path: path))
            #expect(answer.status == 200)
            #expect(answer.body == "{}")
            if user == "nobody" {
                try await client.expectNothing()
            } else {
                try await client.expectEnd(4009)
            }
        }
    }

    @Test("An invalid request, or one of another app, closes no connection")
    func refusals() async throws {
        try await TestBroker.run {
            $0.apps.append(AppConfiguration(id: "2", key: "other-key", secret: "other-secret"))
        } _: { broker in
            let (ann, _) = try await broker.signedIn(as: "ann")
            let path = "/apps/1/users/ann/terminate_connections"
            let short = "/users/ann/terminate_connections"
            for (request, status) in [
                (SignedRequest(path: path, secret: "wrong"), 401),
                (SignedRequest(path: short, secret: "wrong"), 401),
                (SignedRequest(path: short, key: "unknown"), 401),
                (SignedRequest(path: path, key: "other-key", secret: "other-secret"), 401),
                (SignedRequest(path: path, timestamp: 0), 401),
                (SignedRequest(path: "/apps/9/users/ann/terminate_connections"), 404),
                (SignedRequest(method: "GET", path: path), 405),
                (SignedRequest(method: "GET", path: short), 405),
                (SignedRequest(path: path, parameters: [("info", "user_count")]), 400),
                (SignedRequest(path: "/apps/1/users/a%20b/terminate_connections"), 400),
                // The user of the same id of another app is another user.
                (SignedRequest(path: short, key: "other-key", secret: "other-secret"), 200),
            ] {
                let answer = try await broker.terminate(request)
                #expect(answer.status == status, "\(request.text): \(answer)")
                try await ann.expectNothing()
            }
        }
    }
}
