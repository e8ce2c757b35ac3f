import Testing

@testable import FanfareServer

@Suite("Queries for channels, GET /apps/{id}/channels") struct ChannelQueryTests {
    private func ask(
        _ broker: TestBroker,
        _ path: String,
        _ parameters: [(String, String)] = []
    ) async throws -> Answer {
        try await Wire(port: broker.port).ask(
            SignedRequest(method: "GET", path: path, parameters: parameters)
        )
    }

    @Test("Occupied channels, whichever shard is their home", arguments: [1, 4])
    func lists(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            #expect(try await ask(broker, "/apps/1/channels").body == #"{"channels":{}}"#)
            let (client, _) = try await broker.connected()
            for channel in ["chat-b", "chat-a", "news"] { try await client.subscribe(to: channel) }
            #expect(
                try await ask(broker, "/apps/1/channels").body
                    == #"{"channels":{"chat-a":{},"chat-b":{},"news":{}}}"#
            )
            #expect(
                try await ask(broker, "/apps/1/channels", [("filter_by_prefix", "chat-")]).body
                    == #"{"channels":{"chat-a":{},"chat-b":{}}}"#
            )
            let userCount = try await ask(broker, "/apps/1/channels", [("info", "user_count")])
            #expect(userCount.status == 400)
            #expect(
                userCount.body
                    == "user_count may only be requested for presence channels - please supply filter_by_prefix begining with presence-\n"
            )
        }
    }

    @Test("One channel, occupied or not", arguments: [1, 2])
    func describes(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let path = "/apps/1/channels/chat"
            #expect(try await ask(broker, path).body == #"{"occupied":false}"#)
            let count = [("info", "subscription_count")]
            #expect(
                try await ask(broker, path, count).body
                    == #"{"occupied":false,"subscription_count":0}"#
            )
            let (first, _) = try await broker.connected()
            let (second, _) = try await broker.connected()
            for client in [first, second] { try await client.subscribe(to: "chat") }
            #expect(
                try await ask(broker, path, count).body
                    == #"{"occupied":true,"subscription_count":2}"#
            )
            // A closed connection no longer counts.
            try second.send(opcode: 8, [])
            _ = try await second.wire.readToEnd()
            try await eventually {
                try await ask(broker, path, count).body
                    == #"{"occupied":true,"subscription_count":1}"#
            }
        }
    }

    @Test("Users of presence channels, whichever shard is their home", arguments: [1, 2, 3])
    func countsUsers(loops: Int) async throws {
        try await TestBroker.run(loops: loops) { broker in
            let users = [("info", "user_count")]
            let prefix = [("filter_by_prefix", "presence-")]
            let path = "/apps/1/channels/presence-a"
            #expect(
                try await ask(broker, path, users).body == #"{"occupied":false,"user_count":0}"#
            )
            #expect(try await ask(broker, path + "/users").body == #"{"users":[]}"#)
            var clients = [try await broker.joined("presence-a", as: "ann").0]
            clients.append(try await broker.joined("presence-a", as: "ann").0)
            clients.append(try await broker.joined("presence-a", as: "bob").0)
            clients.append(try await broker.joined("presence-b", as: "ann").0)
            try await clients[3].subscribe(to: "chat")
            #expect(
                try await ask(broker, "/apps/1/channels", users + prefix).body
                    == #"{"channels":{"presence-a":{"user_count":2},"presence-b":{"user_count":1}}}"#
            )
            #expect(
                try await ask(broker, path, [("info", "user_count,subscription_count")]).body
                    == #"{"occupied":true,"user_count":2,"subscription_count":3}"#
            )
            #expect(
                try await ask(broker, path + "/users").body
                    == #"{"users":[{"id":"ann"},{"id":"bob"}]}"#
            )
            let event =
                #"{"name":"e","channels":["presence-a","chat"],"data":"1","info":"user_count"}"#
            #expect(
                try await Wire(port: broker.port)
                    .ask(SignedRequest(path: "/apps/1/events", body: event)).body
                    == #"{"channels":{"presence-a":{"user_count":2},"chat":{}}}"#
            )
        }
    }

    @Test func usersTakesNoParametersOfItsOwn() async throws {
        try await TestBroker.run { broker in
            let path = "/apps/1/channels/presence-a/users"
            let answer = try await ask(broker, path, [("info", "user_count")])
            #expect(answer.status == 400)
            #expect(
                answer.body == "The following query string parameters are extraneous: info\n"
            )
        }
    }

    @Test(
        "Invalid queries are refused",
        arguments: [
            (
                "/apps/1/channels/chat", "user_count", 400,
                "Cannot retrieve the user count unless the channel is a presence channel\n"
            ),
            (
                "/apps/1/channels/chat/users", "", 400,
                "Users can only be retrieved for presence channels\n"
            ),
            ("/apps/1/channels/b%20c/users", "", 400, "Invalid channel name"),
            ("/apps/1/channels/b%20c", "", 400, "Invalid channel name"),
            ("/apps/1/channels/chat", "nonsense", 400, ""),
        ]
    )
    func refuses(path: String, info: String, status: Int, text: String) async throws {
        try await TestBroker.run { broker in
            let answer = try await ask(broker, path, info.isEmpty ? [] : [("info", info)])
            #expect(answer.status == status)
            #expect(answer.body.hasPrefix(text), "\(answer.body)")
        }
    }
}
