import Testing

@testable import FanfareServer

@Suite("The paths of the HTTP API") struct RouteTests {
    @Test(arguments: [
        ("/apps/3/events", Route.events(app: 6..<7)),
        ("/apps/3/batch_events", .batchEvents(app: 6..<7)),
        ("/apps/3/channels", .channels(app: 6..<7)),
        ("/apps/a-b/channels/presence-x", .channel(app: 6..<9, name: 19..<29)),
        ("/apps/3/channels/%23x", .channel(app: 6..<7, name: 17..<21)),
        ("/apps/3/channels/presence-x/users", .users(app: 6..<7, channel: 17..<27)),
        ("/apps/3/users/a%3Db/terminate_connections", .terminate(app: 6..<7, user: 14..<19)),
        ("/users/ann/terminate_connections", .terminate(app: nil, user: 7..<10)),
        ("/apps/3/traces", .traces(app: 6..<7)),
        ("/apps/3/traces/ab", .trace(app: 6..<7, id: 15..<17)),
        ("/health", .health),
    ])
    func finds(path: String, route: Route) {
        #expect(self.route(of: path) == route)
    }

    @Test("Ranges count from the start of the path, with the configured prefix")
    func findsBehindAPrefix() {
        let path = Array("/push/apps/3/events".utf8)
        #expect(Route(path: path.span, from: 5) == .events(app: 11..<12))
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
        #expect(route(of: path) == nil)
    }

    private func route(of path: String) -> Route? { Route(path: Array(path.utf8).span) }
}
