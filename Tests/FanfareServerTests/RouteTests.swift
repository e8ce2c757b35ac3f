import Testing

@testable import BrokerAPI
@testable import FanfareServer

@Suite("The paths of the HTTP API") struct RouteTests {
    @Test(
        "A path has its route, and the names in it",
        arguments: [
            ("/apps/3/events", "/apps/{app}/events", ["3"]),
            ("/apps/3/batch_events", "/apps/{app}/batch_events", ["3"]),
            ("/apps/3/channels", "/apps/{app}/channels", ["3"]),
            (
                "/apps/a-b/channels/presence-x", "/apps/{app}/channels/{channel}",
                ["a-b", "presence-x"]
            ),
            ("/apps/3/channels/%23x", "/apps/{app}/channels/{channel}", ["3", "%23x"]),
            ("/apps/3/channels/x/users", "/apps/{app}/channels/{channel}/users", ["3", "x"]),
            ("/apps/3/channels/x/history", "/apps/{app}/channels/{channel}/history", ["3", "x"]),
            (
                "/apps/3/channels/x/messages/7/delivery",
                "/apps/{app}/channels/{channel}/messages/{serial}/delivery", ["3", "x", "7"]
            ),
            (
                "/apps/3/users/a%3Db/terminate_connections",
                "/apps/{app}/users/{user}/terminate_connections", ["3", "a%3Db"]
            ),
            ("/users/ann/terminate_connections", "/users/{user}/terminate_connections", ["ann"]),
            ("/apps/3/traces", "/apps/{app}/traces", ["3"]),
            ("/apps/3/traces/ab", "/apps/{app}/traces/{trace}", ["3", "ab"]),
            ("/health", "/health", []),
            ("/live", "/live", []),
        ]
    )
    func finds(path: String, pattern: String, names: [String]) throws {
        let bytes = Array(path.utf8)
        let found = Route.find(bytes.span)
        let match = try #require(found)
        #expect(match.route.pattern == pattern)
        let ranges = [match.app, match.first, match.second].compactMap(\.self)
        let texts = ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
        #expect(texts.filter { !$0.isEmpty } == names)
    }

    @Test("Ranges count from the start of the path, with the configured prefix")
    func findsBehindAPrefix() {
        let path = Array("/push/apps/3/events".utf8)
        let match = Route.find(path.span, from: 5)
        #expect(match?.route.pattern == "/apps/{app}/events" && match?.app == 11..<12)
    }

    @Test("Each route has methods, and a rate unless it needs no signature")
    func rows() {
        for route in Route.all {
            #expect(!route.methods.isEmpty, "\(route.pattern)")
            #expect((route.kind == nil) == (route.status != nil), "\(route.pattern)")
        }
    }

    @Test(arguments: [
        "", "/", "/apps", "/apps/", "/apps/3", "/apps//events", "/apps/3/events/",
        "/apps/3/events/x",
        "/apps/3/nothing", "/apps/3/channels/", "/apps/3/channels/x/y", "/apps/3/channels//users",
        "/apps/3/events/x/users", "/apps/3/traces/", "/apps/3/traces/x/y",
        "/apps/3/channels/x/users/", "/health/", "/apps/3/users/x",
        "/apps/3/users//terminate_connections",
        "/users//terminate_connections", "/users/x/terminate_connections/", "/users/x", "/users",
        "/apps/3/channels/x/terminate_connections", "/apps/3/users/x/users",
        "/APPS/3/events",
        "apps/3/events", "//apps/3/events",
    ])
    func findsNothing(path: String) {
        let bytes = Array(path.utf8)
        let match = Route.find(bytes.span)
        #expect(match?.route.pattern == nil)
    }
}
