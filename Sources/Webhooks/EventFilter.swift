internal import Broker
internal import Synchronization

/// Which reports of which apps somebody listens to; read on the broker's threads.
final class EventFilter: Sendable {
    private let kinds = Mutex<[AppID: Set<WebhookKind>]>([:])
    /// Spares most brokers the lock: most have no webhooks.
    private let isAny = Atomic<Bool>(false)

    /// Whether a report of `kind` would change what `app` is told.
    func covers(_ kind: WebhookKind, of app: AppID) -> Bool {
        guard isAny.load(ordering: .acquiring) else { return false }
        return kinds.withLock { $0[app]?.contains(kind) == true }
    }

    /// Takes the endpoints of `apps` in the place of all earlier ones.
    func replace(apps: [WebhookApp]) {
        var table: [AppID: Set<WebhookKind>] = [:]
        for app in apps {
            for kind in app.endpoints.flatMap(\.kinds) {
                table[app.id, default: []].formUnion(kind.witnesses)
            }
        }
        kinds.withLock { $0 = table }
        isAny.store(!table.isEmpty, ordering: .releasing)
    }
}
