import Testing

@testable import FanfareServer

@Suite("Conformance: queries, HTTP API §2.3–2.7") struct QueryConformanceTests {
    /// A query and its answer.
    struct Row: Sendable, CustomTestStringConvertible {
        var path: String
        var parameters: [(String, String)] = []
        var status = 200
        var body: String
        var testDescription: String { "\(path) \(parameters)" }
    }

    @Test(
        "Each attribute on each endpoint: its value if the channel has it, else 400",
        arguments: [
            Row(path: "", body: #"{"channels":{"a":{},"presence-x":{}}}"#),
            Row(
                path: "",
                parameters: [("filter_by_prefix", "presence-"), ("info", "user_count")],
                body: #"{"channels":{"presence-x":{"user_count":1}}}"#
            ),
            Row(
                path: "",
                parameters: [("filter_by_prefix", "none-")],
                body: #"{"channels":{}}"#
            ),
            Row(
                path: "",
                parameters: [("info", "subscription_count")],
                body:
                    #"{"channels":{"a":{"subscription_count":1},"presence-x":{"subscription_count":2}}}"#
            ),
            Row(
                path: "",
                parameters: [("info", "user_count")],
                status: 400,
                body:
                    "user_count may only be requested for presence channels - please supply filter_by_prefix begining with presence-\n"
            ),
            Row(
                path: "",
                parameters: [("info", "cache")],
                status: 400,
                body: "cache may only be requested for a single channel\n"
            ),
            Row(path: "/a", body: #"{"occupied":true}"#),
            Row(path: "/vacant", body: #"{"occupied":false}"#),
            Row(path: "/presence-x", body: #"{"occupied":true}"#),
            Row(
                path: "/presence-x",
                parameters: [("info", "user_count,subscription_count")],
                body: #"{"occupied":true,"user_count":1,"subscription_count":2}"#
            ),
            Row(
                path: "/presence-vacant",
                parameters: [("info", "user_count,subscription_count")],
                body: #"{"occupied":false,"user_count":0,"subscription_count":0}"#
            ),
            Row(
                path: "/a",
                parameters: [("info", "user_count")],
                status: 400,
                body: "Cannot retrieve the user count unless the channel is a presence channel\n"
            ),
            Row(
                path: "/a",
                parameters: [("info", "cache")],
                status: 400,
                body: "Cannot retrieve the cache unless the channel is a cache channel\n"
            ),
            Row(path: "/presence-x/users", body: #"{"users":[{"id":"ann"}]}"#),
            Row(path: "/presence-vacant/users", body: #"{"users":[]}"#),
            Row(
                path: "/a/users",
                status: 400,
                body: "Users can only be retrieved for presence channels\n"
            ),
        ]
    )
    func attributes(row: Row) async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "a")
            let (ann, _) = try await broker.joined("presence-x", as: "ann")
            let (annAgain, _) = try await broker.joined("presence-x", as: "ann")
            let answer = try await broker.query("/apps/1/channels\(row.path)", row.parameters)
            #expect(answer.status == row.status)
            #expect(answer.body == row.body)
            withExtendedLifetime((client, ann, annAgain)) {}
        }
    }

    @Test("An unknown attribute is 400 on each endpoint")
    func unknownAttributes() async throws {
        try await TestBroker.run { broker in
            for path in ["/apps/1/channels", "/apps/1/channels/a"] {
                let answer = try await broker.query(path, [("info", "user_count,nonsense")])
                #expect(answer.status == 400)
                #expect(answer.body.hasPrefix(#"Unknown info attribute: "nonsense""#))
            }
        }
    }

    @Test("Unknown parameters are ignored, except in the list of users")
    func unknownParameters() async throws {
        try await TestBroker.run { broker in
            let unknown = [("page", "2")]
            #expect(try await broker.query("/apps/1/channels", unknown).status == 200)
            #expect(try await broker.query("/apps/1/channels/a", unknown).status == 200)
            let users = try await broker.query("/apps/1/channels/presence-x/users", unknown)
            #expect(users.status == 400)
            #expect(users.body == "The following query string parameters are extraneous: page\n")
        }
    }

    @Test("An invalid channel name is 400")
    func invalidNames() async throws {
        try await TestBroker.run { broker in
            for name in ["b%20c", "%23x", "%FF", String(repeating: "x", count: 201)] {
                for path in ["/apps/1/channels/\(name)", "/apps/1/channels/\(name)/users"] {
                    let answer = try await broker.query(path)
                    #expect(answer.status == 400)
                    #expect(answer.body.hasPrefix("Invalid channel name: "), "\(path)")
                }
            }
            let prefix = [("filter_by_prefix", String(repeating: "x", count: 201))]
            let answer = try await broker.query("/apps/1/channels", prefix)
            #expect(answer.body == "filter_by_prefix too long (201 > 200)\n")
        }
    }
}
