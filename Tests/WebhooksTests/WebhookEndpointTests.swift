import Broker
import PusherProtocol
import Testing

@testable import Webhooks

@Suite("Endpoints and their filters") struct WebhookEndpointTests {
    @Test(arguments: [
        ("", "", "my-channel", true), ("private-", "", "private-x", true),
        ("private-", "", "public", false), ("", "-eu", "a-eu", true), ("", "-eu", "a-us", false),
        ("private-", "-eu", "private-a-eu", true), ("private-", "-eu", "private-a", false),
        // The texts may overlap: the name has both.
        ("a-b", "b-c", "a-b-c", true), ("abc", "", "ab", false), ("", "abc", "bc", false),
    ])
    func filtersByName(prefix: String, suffix: String, name: String, accepts: Bool) {
        let filter = endpoint(prefix: prefix, suffix: suffix).filter
        #expect(filter.accepts(.channelOccupied, on: channel(name)) == accepts)
    }

    @Test(arguments: WebhookKind.allCases)
    func filtersByKind(_ kind: WebhookKind) {
        let events: [ReportedEvent] = [
            .channelOccupied(channel()), .channelVacated(channel()),
            .memberAdded(channel(), userID: UserID("a")),
            .memberRemoved(channel(), userID: UserID("a")),
            .clientEvent(
                channel(),
                nameToken: [],
                dataToken: nil,
                sender: SocketID(1, 2),
                userID: nil
            ),
            .cacheMiss(channel()), .subscriptionCount(channel(), 1),
        ]
        let filter = endpoint(kinds: [kind]).filter
        let accepted = events.filter { event in
            WebhookKind(event.event).map { filter.accepts($0, on: event.channel) } == true
        }
        #expect(accepted.map { WebhookKind($0.event) } == [kind])
    }

    @Test func twoEndpointsOfOneURLAreTwo() {
        let both = app(endpoints: [
            endpoint(kinds: [.cacheMiss]), endpoint(), endpoint("http://b"),
        ])
        #expect(both.keyedEndpoints.map { $0.0.ordinal } == [0, 1, 0])
        #expect(Set(both.keyedEndpoints.map { $0.0 }).count == 3)
    }
}
