import PusherProtocol
import Testing

@testable import Broker

@Suite("Watchlists, Pusher protocol §10.4") struct WatchlistTests {
    private func client(_ users: String..., watchlistMax: Int = 100) -> UserClient {
        let client = UserClient(
            AppLimits { $0.watchlistMax = watchlistMax },
            features: AppFeatures { $0.watchlist = true }
        )
        _ = signIn(client, users)
        return client
    }

    private func signIn(_ client: UserClient, _ users: [String]) -> [String] {
        let list = users.map { "\"\($0)\"" }.joined(separator: ",")
        return client.signIn(#"{"id":"me","watchlist":[\#(list)]}"#)
    }

    private func told(online: String? = nil, offline: String? = nil) -> String {
        let groups = [("online", online), ("offline", offline)].compactMap { name, users in
            users.map { #"{"name":"\#(name)","user_ids":[\#($0)]}"# }
        }
        return
            #"{"event":"pusher_internal:watchlist_events","data":{"events":[\#(groups.joined(separator: ","))]}}"#
    }

    @Test("The first message has the states of all users, once every home has answered")
    func firstState() {
        let client = client("a", "b", "c")
        #expect(client.updatePresence(online: ["c"]) == nil)
        #expect(
            client.updatePresence(online: ["a"], offline: ["b"])
                == told(online: #""a","c""#, offline: #""b""#)
        )
    }

    @Test("An empty group is omitted")
    func emptyGroups() {
        #expect(client("a").updatePresence(online: ["a"]) == told(online: #""a""#))
        #expect(client("a").updatePresence(offline: ["a"]) == told(offline: #""a""#))
    }

    @Test("After the first message only changes are sent")
    func changes() {
        let client = client("a", "b")
        _ = client.updatePresence(online: ["a"], offline: ["b"])
        #expect(client.updatePresence(online: ["a"]) == nil)
        #expect(client.updatePresence(online: ["b"]) == told(online: #""b""#))
        #expect(client.updatePresence(offline: ["a"]) == told(offline: #""a""#))
        #expect(client.updatePresence(offline: ["a"]) == nil)
    }

    @Test("Users that are not on the list, or no longer, are ignored")
    func unwatchedUsers() {
        let client = client("a", "b")
        _ = client.updatePresence(online: ["a"], offline: ["b"])
        #expect(client.updatePresence(online: ["x"]) == nil)
        _ = signIn(client, ["b"])
        #expect(client.updatePresence(offline: ["a"]) == nil)
        #expect(UserClient().updatePresence(online: ["a"]) == nil)
    }

    @Test("A second sign-in replaces the list, and reports only the new users")
    func secondSignIn() {
        let client = client("a", "b")
        _ = client.updatePresence(online: ["a"], offline: ["b"])
        let effects = signIn(client, ["b", "c"])
        #expect(Array(effects.dropFirst()) == ["unwatch a", "watch c"])
        // Changes of other users do not wait for the home of the new one.
        #expect(client.updatePresence(online: ["b"]) == told(online: #""b""#))
        #expect(client.updatePresence(offline: ["c"]) == told(offline: #""c""#))
        #expect(Array(signIn(client, []).dropFirst()) == ["unwatch b c"])
        #expect(client.watchedUsers.isEmpty)
    }

    @Test("A list that is too long is cut off, with error 4302")
    func tooLong() {
        let client = UserClient(
            AppLimits { $0.watchlistMax = 2 },
            features: AppFeatures { $0.watchlist = true }
        )
        let effects = signIn(client, ["a", "b", "c"])
        #expect(effects.count == 4)
        #expect(effects[1].contains("pusher:signin_success"))
        #expect(
            effects[2]
                == #"{"event":"pusher:error","data":{"code":4302,"message":"Watchlist limit exceeded: of the 3 users given, only the first 2 are watched"}}"#
        )
        #expect(effects[3] == "watch a b")
        #expect(
            signIn(UserClient(features: AppFeatures { $0.watchlist = true }), ["a", "b"]).count == 3
        )
    }

    @Test func withoutTheFeatureTheListIsIgnored() {
        let client = UserClient(AppLimits { $0.watchlistMax = 1 })
        #expect(signIn(client, ["a", "b"]).count == 2)
        #expect(client.watchedUsers.isEmpty)
    }
}
