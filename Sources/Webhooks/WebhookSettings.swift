public import Broker
public import PusherProtocol

/// The settings of a broker's webhooks.
public struct WebhookSettings: Sendable {
    /// The SQLite file of undelivered webhooks; `nil` keeps them only in memory.
    ///
    /// A lock reserves it for one broker; the command line may open it at the same time.
    public var path: String?
    /// A PEM file of certificates to trust in addition to the system's; `nil` for none.
    public var trustFile: String?
    /// The delay of webhooks about departures from a channel; a return within it cancels them.
    public var absenceDelay: Duration = .seconds(3)
    /// The time for which a batch collects events after its first.
    public var batchWindow: Duration = .milliseconds(50)
    /// The maximum number of events in one batch.
    public var batchCountMax = 100
    /// The maximum length of the events in one batch, in bytes; a longer event is sent alone.
    public var batchLengthMax = 262_144
    /// The time limit for a response, including connecting.
    public var timeout: Duration = .seconds(4)
    /// The period of retries, from `time_ms` on: receivers refuse older webhooks.
    public var retryPeriod: Duration = .seconds(300)
    /// The maximum number of webhooks queued for one endpoint; above it the oldest become dead letters.
    public var queueCountMax = 10_000
    /// The maximum length of the webhooks queued for one endpoint, in bytes; above it the oldest become dead letters.
    public var queueLengthMax = 67_108_864
    /// The maximum number of concurrent requests to one endpoint.
    public var sendsMax = 8
    /// The maximum number of unprocessed reports; above it the oldest are dropped and counted.
    public var reportCountMax = 65_536
    /// The maximum length of their client events, in bytes; above it the oldest reports are dropped and counted.
    public var reportLengthMax = 67_108_864
    /// The maximum number of departures within ``absenceDelay``; above it the oldest are sent at once.
    public var absenceCountMax = 100_000
    /// The maximum number of dead letters; above it the oldest are deleted.
    public var deadLetterCountMax = 10_000
    /// The maximum length of the dead letters, in bytes; above it the oldest are deleted.
    ///
    /// In memory, while the file cannot be written, the limit is an eighth of that.
    public var deadLetterLengthMax = 268_435_456
    /// Called with a reached limit and a count, on the thread of the webhooks.
    public var limitMet: @Sendable (Limit, Int) -> Void = { _, _ in }
    /// Called on the thread of the webhooks with a ``QueuedEvent`` whose queue may drop it.
    ///
    /// The second argument is whether all of its webhooks were delivered.
    public var settled: @Sendable (QueuedEvent.ID, Bool) -> Void = { _, _ in }

    /// Creates settings with defaults.
    ///
    /// - Parameters:
    ///   - path: The SQLite file; `nil` to use only memory.
    ///   - trustFile: A PEM file of certificates to trust in addition to the system's.
    public init(path: String? = nil, trustFile: String? = nil) {
        self.path = path
        self.trustFile = trustFile
    }
}
