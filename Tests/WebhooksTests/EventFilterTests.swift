import Broker
import Testing

@testable import Webhooks

@Suite("The events that webhooks observe") struct EventFilterTests {
    @Test func noneWithoutEndpoints() {
        let filter = EventFilter()
        #expect(filter.observedKinds(of: appID).isEmpty)
        filter.replace(apps: [app(endpoints: [])])
        #expect(filter.observedKinds(of: appID).isEmpty)
    }

    @Test func thoseOfTheAppsEndpoints() throws {
        let filter = EventFilter()
        filter.replace(apps: [
            app(endpoints: [endpoint(kinds: [.clientEvent]), endpoint(kinds: [.cacheMiss])]),
            app(AppID("2"), endpoints: [endpoint(kinds: [.subscriptionCount])]),
        ])
        #expect(filter.observedKinds(of: appID) == [.clientEvents, .cacheMisses])
        #expect(filter.observedKinds(of: AppID("2")) == [.subscriptionCounts])
    }

    @Test(
        "Arrivals are observed for departures, and vice versa",
        arguments: [
            (WebhookKind.channelOccupied, BrokerEventKinds.occupancy),
            (.channelVacated, .occupancy), (.memberAdded, .members), (.memberRemoved, .members),
        ]
    )
    func pairs(kind: WebhookKind, observed: BrokerEventKinds) throws {
        let filter = EventFilter()
        filter.replace(apps: [app(endpoints: [endpoint(kinds: [kind])])])
        #expect(filter.observedKinds(of: appID) == observed)
    }

    @Test func aReloadTakesEffect() throws {
        let filter = EventFilter()
        filter.replace(apps: [app(endpoints: [endpoint()])])
        filter.replace(apps: [])
        #expect(filter.observedKinds(of: appID).isEmpty)
    }
}
