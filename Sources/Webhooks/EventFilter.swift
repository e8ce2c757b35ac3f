internal import Broker
internal import Synchronization

/// The events that lead to webhooks, by app.
final class EventFilter: Sendable {
    private let kinds = Mutex<[AppID: BrokerEventKinds]>([:])

    /// The events that lead to webhooks of an app.
    func observedKinds(of app: AppID) -> BrokerEventKinds {
        kinds.withLock { $0[app] ?? [] }
    }

    /// Replaces the apps.
    func replace(apps: [WebhookApp]) {
        var table: [AppID: BrokerEventKinds] = [:]
        for app in apps {
            for kind in app.endpoints.flatMap(\.kinds) {
                table[app.id, default: []].formUnion(kind.observedKinds)
            }
        }
        kinds.withLock { $0 = table }
    }
}
