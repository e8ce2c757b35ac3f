import Broker
import Testing

@testable import Webhooks

@Suite("What the broker need not report") struct EventFilterTests {
    @Test func nobodyListens() {
        let interest = EventFilter()
        #expect(!interest.covers(.clientEvent, of: appID))
        interest.replace(apps: [app(endpoints: [])])
        #expect(!interest.covers(.clientEvent, of: appID))
    }

    @Test func onlyWhatAnEndpointOfTheAppWants() throws {
        let interest = EventFilter()
        interest.replace(apps: [
            try app(endpoints: [endpoint(kinds: [.clientEvent]), endpoint(kinds: [.cacheMiss])]),
            try app(AppID("2"), endpoints: [endpoint(kinds: [.subscriptionCount])]),
        ])
        let covered = WebhookKind.allCases.filter { interest.covers($0, of: appID) }
        #expect(covered == [.clientEvent, .cacheMiss])
    }

    /// Without the departure an arrival after a moment's absence would look new.
    @Test(arguments: [
        (WebhookKind.channelOccupied, [WebhookKind.channelOccupied, .channelVacated]),
        (.channelVacated, [.channelOccupied, .channelVacated]),
        (.memberAdded, [.memberAdded, .memberRemoved]),
        (.memberRemoved, [.memberAdded, .memberRemoved]),
    ])
    func arrivalsAndDeparturesAreReportedTogether(kind: WebhookKind, needed: [WebhookKind]) throws {
        let interest = EventFilter()
        interest.replace(apps: [try app(endpoints: [endpoint(kinds: [kind])])])
        #expect(WebhookKind.allCases.filter { interest.covers($0, of: appID) } == needed)
    }

    @Test func aReloadTakesEffect() throws {
        let interest = EventFilter()
        interest.replace(apps: [try app(endpoints: [endpoint()])])
        interest.replace(apps: [])
        #expect(!interest.covers(.cacheMiss, of: appID))
    }
}
