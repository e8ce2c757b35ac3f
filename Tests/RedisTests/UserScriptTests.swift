import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: users") struct UserScriptTests {
    private let keys = ClusterStore.keys
    private let user = ClusterUser(app: "1", id: "a:b c")

    private func set(_ count: Int, by node: String = "a", _ store: ClusterStore) throws
        -> UserConnections
    {
        try store.send(store.calls(of: node).setConnections(of: user, to: count)) {
            UserConnections($0)
        }
    }

    private func isOnline(_ store: ClusterStore) throws -> [Int64?] {
        let other = ClusterUser(app: "1", id: "other")
        return try store.send(store.calls(of: "a").watch([other, user])) { reply in
            [reply[0].integer, reply[1].integer]
        }
    }

    @Test func announcesAUserOnSeveralNodesOnce() throws {
        let store = try ClusterStore()
        for node in ["a", "b"] { try store.register(node) }
        try store.live.connection.subscribe(to: [keys.announcements(user).description])
        #expect(try isOnline(store) == [0, 0])
        #expect(try set(2, store).count == 2)
        #expect(try set(1, by: "b", store).count == 3)
        #expect(try set(3, store).count == 4)
        #expect(try isOnline(store) == [0, 1])
        #expect(try set(0, store).count == 1)
        #expect(try set(0, by: "b", store).count == 0)
        #expect(try set(0, by: "b", store).count == 0)
        // Not offline yet, and back again.
        #expect(try isOnline(store) == [0, 1])
        #expect(try set(1, store).count == 1)
        #expect(try store.takeAnnouncements() == ["online"])
        #expect(try set(0, store).count == 0)
        let offline = store.calls(of: "a").announceOffline(user)
        #expect(try store.send(offline) { $0.integer } == 0)
        try store.makeDue()
        try store.heartbeat()
        let work = try store.send(store.calls(of: "a").timers(after: nil)) { DueWork($0) }
        #expect(work.items == [.offline(user)])
        #expect(try store.send(offline) { $0.integer } == 1)
        #expect(try store.send(offline) { $0.integer } == 0)
        #expect(try store.takeAnnouncements() == ["offline"])
        #expect(try isOnline(store) == [0, 0])
        #expect(try store.call("SMEMBERS", keys.items(of: "a")) == .list(.set, [.bulk(".")]))
    }

    @Test func remembersATerminationForNodesThatReconnect() throws {
        let store = try ClusterStore()
        try store.register()
        try store.live.connection.subscribe(to: [keys.announcements(user).description])
        #expect(try set(1, store).terminatedAt == nil)
        let time = try store.send(store.calls(of: "b").terminate(user)) { $0.integer }
        #expect(try store.live.takeMessages().last == "terminate \(time)")
        #expect(try set(1, store).terminatedAt == time)
        #expect(try store.call("TTL", keys.termination(user)).text.count == 3)
        try store.call("SET", keys.termination(user), "\(time - 120_000)")
        #expect(try set(1, store).terminatedAt == nil)
    }

    @Test func refusesANodeThatIsNotRegistered() throws {
        let store = try ClusterStore()
        let call = store.calls(of: "a").setConnections(of: user, to: 1)
        #expect(try store.refusal(of: call)?.code == .fenced)
        #expect(try store.call("EXISTS", keys.connections(user)) == .integer(0))
    }
}
