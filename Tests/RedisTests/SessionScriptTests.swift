import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: sessions") struct SessionScriptTests {
    private let keys = ClusterStore.keys
    private let session = ClusterSession(app: "1", token: "t")

    private func claim(
        on session: ClusterSession? = nil,
        by node: String = "a",
        _ socketID: String,
        openedAt: Int64 = 1,
        sessionsMax: Int = 10,
        takes: Bool = false,
        in store: ClusterStore
    ) throws -> ClaimedSession {
        let call = store.calls(of: node).claim(
            session ?? self.session,
            for: .init(socketID: socketID, openedAt: openedAt),
            age: 300_000,
            sessionsMax: sessionsMax,
            openFor: 7,
            takes: takes
        )
        return try store.send(call) { ClaimedSession($0) }
    }

    private func park(
        by node: String = "a",
        _ socketID: String,
        _ state: String,
        _ parking: ClusterSession.Parking = .park,
        openedAt: Int64 = 1,
        in store: ClusterStore
    ) throws -> SessionParking {
        let call = store.calls(of: node).park(
            session,
            of: .init(socketID: socketID, openedAt: openedAt),
            Array(state.utf8),
            age: 300_000,
            parking
        )
        return try store.send(call) { SessionParking($0) }
    }

    private func store(subscribed node: String = "a") throws -> ClusterStore {
        let store = try ClusterStore()
        for node in ["a", "b"] { try store.register(node) }
        try store.live.connection.subscribe(
            to: ["a", "b"].map { keys.inbox(of: $0).description }
        )
        return store
    }

    @Test func resumesWhatWasParked() throws {
        let store = try store()
        #expect(try claim("1.1", in: store).outcome == .new)
        let state = "line 1\nline 2 \0"
        #expect(try park("1.1", state, in: store) == .stored)
        #expect(try park("1.1", "late", in: store) == .outdated)
        let claim = try claim(by: "b", "2.1", in: store)
        #expect(claim.outcome == .resumed && claim.state == Array(state.utf8))
        #expect(try self.claim(by: "b", "2.1", in: store) == claim)
        #expect(try park("1.1", "late", in: store) == .outdated)
        #expect(try store.live.takeMessages().isEmpty)
    }

    @Test func asksALivingOwner() throws {
        let store = try store()
        _ = try claim("1.1", in: store)
        #expect(try park("1.1", "old", .checkpoint, in: store) == .stored)
        #expect(try claim(by: "b", "2.1", in: store).outcome == .awaited)
        #expect(try claim(by: "b", "2.2", openedAt: 2, in: store).outcome == .awaited)
        #expect(try park("1.1", "old 2", .checkpoint, in: store) == .stored)
        #expect(try park("1.1", "new state", in: store) == .passedOn)
        #expect(try park("1.1", "late", in: store) == .outdated)
        let messages = try store.live.takeMessages().map { InboxMessage(Array($0.utf8)) }
        let expected: [(String, InboxMessage.Content)] = [
            ("1.1", .yield(openFor: 7)), ("2.1", .superseded), ("1.1", .yield(openFor: 7)),
            ("2.2", .yielded(Array("new state".utf8))),
        ]
        #expect(messages.map { $0?.socketID } == expected.map(\.0))
        #expect(messages.map { $0?.content } == expected.map(\.1))
        #expect(messages.allSatisfy { $0?.session == session })
        // An older connection of the owner's node comes late.
        #expect(try claim(by: "b", "2.1", in: store).outcome == .superseded)
    }

    @Test func goesOnFromACheckpointOfADeadOwner() throws {
        let store = try store()
        _ = try claim("1.1", in: store)
        _ = try park("1.1", "old", .checkpoint, in: store)
        #expect(try claim(by: "b", "2.1", in: store).outcome == .awaited)
        // No answer in time.
        let forced = try claim(by: "b", "2.1", takes: true, in: store)
        #expect(forced.outcome == .checkpoint && forced.state == Array("old".utf8))
        // The node is gone.
        try store.call("ZREM", keys.nodes, "b")
        let next = try claim("1.2", in: store)
        #expect(next.outcome == .checkpoint && next.state == Array("old".utf8))
    }

    @Test func resumesNothingForTwoClients() throws {
        let store = try store()
        _ = try claim("1.1", in: store)
        #expect(try claim(by: "b", "2.1", in: store).outcome == .awaited)
        #expect(try park("1.1", "x", in: store) == .passedOn)
        #expect(try claim("1.2", in: store).outcome == .awaited)
        // The first one, which has yielded, answers a ping.
        #expect(try park("1.1", "", .share, in: store) == .stored)
        #expect(try claim("1.3", in: store).outcome == .shared)
        #expect(try park(by: "b", "2.1", "x", in: store) == .outdated)
        let messages = try store.live.takeMessages().map { InboxMessage(Array($0.utf8)) }
        #expect(messages.suffix(2).map { $0?.content } == [.shared, .shared])
        #expect(messages.suffix(2).map { $0?.socketID } == ["2.1", "1.2"])
    }

    @Test("A session that Redis has lost is stored again by its owner")
    func restoresWhatIsLost() throws {
        let store = try store()
        #expect(try park("1.1", "x", .share, in: store) == .outdated)
        #expect(try park("1.1", "x", .checkpoint, in: store) == .restored)
        #expect(try claim(by: "b", "2.1", in: store).outcome == .awaited)
        #expect(try park("1.1", "x", openedAt: 2, in: store) == .outdated)
        #expect(try park("1.1", "x", in: store) == .passedOn)
        _ = try store.call("DEL", keys.sessions("1"))
        #expect(try park(by: "b", "2.1", "y", in: store) == .restored)
        let claim = try claim("1.2", in: store)
        #expect(claim.outcome == .resumed && claim.state == Array("y".utf8))
    }

    @Test func forgetsTheOldestBeyondTheLimitAndWhatHasExpired() throws {
        let store = try store()
        for (index, token) in ["t", "u", "v"].enumerated() {
            let session = ClusterSession(app: "1", token: token)
            #expect(
                try claim(on: session, "1.\(index)", sessionsMax: 3, in: store).forgottenCount == 0
            )
        }
        let expiries = keys.sessionExpiries("1")
        for (score, token) in [("4000000000002", "1:t"), ("4000000000001", "1:u")] {
            try store.call("ZADD", expiries, score, token)
        }
        try store.call("ZADD", expiries, "4000000000003", "1:v")
        let fourth = ClusterSession(app: "1", token: "w")
        let full = try claim(on: fourth, "1.4", sessionsMax: 3, in: store)
        #expect(full.outcome == .full && full.forgottenCount == 0 && full.lastForgottenAt == nil)
        #expect(try park("1.0", "x", in: store) == .stored)
        let new = try claim(on: fourth, "1.4", sessionsMax: 3, in: store)
        #expect(new.outcome == .new && new.forgottenCount == 1 && new.lastForgottenAt != nil)
        let tokens = try store.call("HKEYS", keys.sessions("1")).elements.map(\.text)
        #expect(Set(tokens) == ["1:u", "1:v", "1:w", "!", "#"])
        try store.call("ZADD", expiries, "1", "1:u", "2", "1:v")
        #expect(try claim("1.5", sessionsMax: 3, in: store).outcome == .new)
        #expect(try store.call("HLEN", keys.sessions("1")) == .integer(4))
    }

    @Test("A state beyond the most bytes is stored empty, as is one beyond an address's quarter")
    func bytes() throws {
        let store = try store()
        func park(_ number: Int, _ length: Int, from address: UInt32) throws -> SessionParking {
            let session = ClusterSession(app: "1", token: "t\(number)")
            #expect(try claim(on: session, "1.\(number)", in: store).outcome == .new)
            let call = store.calls(of: "a").park(
                session,
                of: .init(socketID: "1.\(number)", openedAt: 1),
                [UInt8](repeating: 0x78, count: length),
                age: 300_000,
                .park,
                byteCountMax: 1_000,
                addressDigest: address
            )
            return try store.send(call) { SessionParking($0) }
        }
        #expect(try park(1, 400, from: 1) == .stored)
        // More than half are taken then.
        #expect(try park(2, 200, from: 1) == .emptied)
        #expect(try park(3, 200, from: 2) == .stored)
        #expect(try park(4, 300, from: 3) == .emptied)
        #expect(try park(5, 200, from: 0) == .stored)
        let back = try claim(on: ClusterSession(app: "1", token: "t1"), "2.1", in: store)
        #expect(back.outcome == .resumed && back.state.count == 400)
        let lost = try claim(on: ClusterSession(app: "1", token: "t2"), "2.2", in: store)
        #expect(lost.outcome == .resumed && lost.state.isEmpty)
        // What is forgotten counts no longer.
        let sessions = try store.call("HVALS", keys.sessions("1")).elements.map(\.text)
        let length = sessions.filter { $0.contains("\n") }.map(\.utf8.count).reduce(0, +)
        #expect(try store.call("HGET", keys.sessions("1"), "#").text == "\(length)")
        try store.call("ZADD", keys.sessionExpiries("1"), "1", "1:t1", "1", "1:t3")
        #expect(
            try claim(on: ClusterSession(app: "1", token: "u"), "3.1", in: store).outcome == .new
        )
        #expect(try store.call("HEXISTS", keys.sessions("1"), "#2") == .integer(0))
    }
}
