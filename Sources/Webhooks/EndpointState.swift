/// An endpoint, and what is on its way to it.
struct EndpointState: Sendable {
    /// As it is configured now.
    var endpoint: WebhookEndpoint
    /// Events that wait for others to travel with.
    var batch: Batch?
    /// Webhooks that wait or are under way.
    var backlog: Backlog
    /// Whether the last attempt failed; a change is logged, a repetition is not.
    var isFailing = false

    /// When there is something to do, in milliseconds; `nil` when something else has to happen first.
    var nextDue: Int64? {
        guard let batch else { return backlog.nextDue }
        return min(batch.due, backlog.nextDue ?? .max)
    }
}
