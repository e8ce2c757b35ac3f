import Broker
import Testing

@testable import FanfareServer

@Suite("The paths of the HTTP API") struct RouteTests {
    @Test(arguments: [
        ("/apps/3/events", Route.events(AppID("3"))),
        ("/apps/3/batch_events", .batchEvents(AppID("3"))),
        ("/apps/3/channels", .channels(AppID("3"))),
        ("/apps/a-b/channels/presence-x", .channel(AppID("a-b"), name: "presence-x")),
        ("/apps/3/channels/%23x", .channel(AppID("3"), name: "%23x")),
        ("/apps/3/channels/presence-x/users", .users(AppID("3"), channel: "presence-x")),
        ("/health", .health),
    ])
    func finds(path: String, route: Route) {
        #expect(self.route(of: path) == route)
    }

    @Test(arguments: [
        "", "/", "/apps", "/apps/", "/apps/3", "/apps//events", "/apps/3/events/",
        "/apps/3/events/x",
        "/apps/3/nothing", "/apps/3/channels/", "/apps/3/channels/x/y", "/apps/3/channels//users",
        "/apps/3/events/x/users",
        "/apps/3/channels/x/users/", "/health/",
        "/APPS/3/events",
        "apps/3/events", "//apps/3/events",
    ])
    func findsNothing(path: String) {
        #expect(route(of: path) == nil)
    }

    private func route(of path: String) -> Route? { Route(path: Array(path.utf8).span) }
}
