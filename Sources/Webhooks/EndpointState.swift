internal import Broker

/// An endpoint with its queues; confined to the dispatcher.
final class EndpointState {
    /// The key, which stays the same.
    let key: EndpointKey
    /// The endpoint as configured now.
    var endpoint: WebhookConfiguration { didSet { filter = endpoint.filter } }
    /// The webhooks that it receives.
    private(set) var filter: WebhookFilter
    /// Its app as configured now, whose key signs.
    var app: WebhookApp
    /// The open batch, if any.
    var batch: Batch?
    /// The queued webhooks.
    var backlog: Backlog
    /// Whether the last attempt failed; only a change is logged.
    var isFailing = false
    /// The counts of its webhooks' outcomes.
    var counts = EndpointCounts()

    /// Creates an endpoint without webhooks.
    init(key: EndpointKey, endpoint: WebhookConfiguration, app: WebhookApp, backlog: Backlog) {
        (self.key, self.endpoint, self.app, self.backlog) = (key, endpoint, app, backlog)
        filter = endpoint.filter
    }

    /// The time of the next action, in milliseconds; `.max` if another event has to happen first.
    var nextDue: Int64 { min(batch?.due ?? .max, backlog.nextDue ?? .max) }

    /// The counts of its webhooks.
    var report: EndpointReport {
        EndpointReport(
            app: key.app,
            url: key.url,
            ordinal: key.ordinal,
            counts: counts,
            queued: backlog.count,
            isFailing: isFailing
        )
    }
}
