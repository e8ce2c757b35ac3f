import RESP
import Redis
import TestRedis
import Testing

@Suite("Scripts: members") struct MemberScriptTests {
    private let keys = ClusterStore.keys
    private let channel = ClusterStore.channel("x")
    private let rules = ChannelRules(webhooks: [.occupancy, .members])

    @Test func announcesAUserOnSeveralNodesOnce() throws {
        let store = try ClusterStore()
        for node in ["a", "b"] {
            try store.register(node)
            try store.attach(by: node)
        }
        try store.subscribe()
        #expect(try store.join("é u", info: "{\"n\": 1}") == .newMember(memberCount: 1))
        #expect(try store.join("é u", by: "b", info: "{}") == .knownMember(memberCount: 1))
        #expect(try store.join("é u") == .knownMember(memberCount: 1))
        #expect(try store.join("v") == .newMember(memberCount: 2))
        #expect(try store.call("HGET", keys.members(channel), "é u") == .bulk("2"))
        let members = try store.attach(.members).members
        #expect(Set(members.map(\.user)) == ["é u", "v"])
        #expect(members.first { $0.user == "é u" }?.info == Array("{\"n\": 1}".utf8))
        #expect(try store.leave("é u") == .memberStays)
        #expect(try store.leave("é u") == .unknown)
        #expect(try store.leave("é u", by: "b") == .memberLeft)
        #expect(try store.leave("w") == .unknown)
        #expect(
            try store.takeAnnouncements() == ["0 + - 4 é u{\"n\": 1}", "0 + - 1 v{}", "0 - - é u"]
        )
        #expect(try store.leave("v") == .memberLeft)
        for key in [
            keys.members(channel), keys.memberInfos(channel), keys.users(of: "a", on: channel),
        ] {
            #expect(try store.call("EXISTS", key) == .integer(0))
        }
    }

    @Test func refusesMoreMembersThanAllowed() throws {
        let store = try ClusterStore()
        for node in ["a", "b"] {
            try store.register(node)
            try store.attach(by: node)
        }
        try store.join("u", membersMax: 2)
        try store.join("v", membersMax: 2)
        #expect(try store.join("w", by: "b", membersMax: 2) == .refused(memberCount: 2))
        // A member is no further one.
        #expect(try store.join("u", by: "b", membersMax: 2) == .knownMember(memberCount: 2))
        try store.leave("v")
        #expect(try store.join("w", by: "b", membersMax: 2) == .newMember(memberCount: 2))
    }

    @Test func refusesANodeThatIsNotRegisteredOrNotAttached() throws {
        let store = try ClusterStore()
        let calls = store.calls(of: "a")
        let join = calls.join(channel, as: "u", info: [], membersMax: 9)
        let fenced = RedisError("FENCED node a is not registered")
        #expect(try store.refusal(of: join) == fenced)
        #expect(try store.refusal(of: calls.leave(channel, as: "u")) == fenced)
        try store.register()
        let detached = RedisError("DETACHED node a is not attached to channel 1:x")
        #expect(try store.refusal(of: join) == detached)
        try store.attach()
        try store.join("u")
        let members = RedisError("MEMBERS node a has members on channel 1:x")
        #expect(try store.refusal(of: calls.detach(from: channel)) == members)
        #expect(try store.leave("u") == .memberLeft)
        #expect(try store.detach().becameVacant)
    }

    @Test func reportsDeparturesWhenTheyAreOver() throws {
        let store = try ClusterStore()
        try store.register()
        try store.attach([], rules)
        try store.join("u 1", rules)
        #expect(try store.takeWebhooks() == ["occupied", "added u 1"])
        try store.leave("u 1", rules)
        try store.detach(rules)
        #expect(try store.takeWebhooks().isEmpty)
        // Back in time: neither is reported.
        try store.attach([], rules)
        try store.join("u 1", rules)
        #expect(try store.call("ZCARD", keys.due) == .integer(0))
        #expect(try store.takeWebhooks().isEmpty)
        try store.leave("u 1", rules)
        try store.detach(rules)
        let waiting = try store.call("ZRANGE", keys.due, "0", "-1", "WITHSCORES").elements
        let time = try store.heartbeat().time
        for item in waiting {
            let score = try #require(Int64(item.elements[1].text.split(separator: ".")[0]))
            #expect((1_000...3_000).contains(score - time))
        }
        try store.makeDue()
        #expect(try store.takeWebhooks() == ["removed u 1", "vacated"])
        #expect(try store.takeWebhooks().isEmpty)
        try store.attach([], rules)
        #expect(try store.takeWebhooks() == ["occupied"])
    }

    @Test func recordsNothingThatIsNotWanted() throws {
        let store = try ClusterStore()
        try store.register()
        try store.attach(.cachedEvent)
        try store.join("u")
        try store.leave("u")
        try store.detach()
        #expect(try store.call("EXISTS", keys.due) == .integer(0))
        #expect(try store.call("EXISTS", keys.webhooks) == .integer(0))
    }
}
