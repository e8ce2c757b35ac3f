public import PusherProtocol

/// Where the webhooks of a broker wait, how long and how many.
public struct WebhookSettings: Sendable {
    /// The SQLite file where undelivered webhooks wait; `nil` keeps them in memory alone.
    ///
    /// One running broker to a file, which is locked; the command line may open it beside.
    public var path: String?
    /// A PEM file of certificates that are trusted beside the system's; `nil` for none.
    public var trustFile: String?
    /// How long a channel or a member must be gone before that is told.
    public var absenceDelay: Duration = .seconds(3)
    /// How long the first event of a batch waits for others.
    public var batchWindow: Duration = .milliseconds(50)
    /// The events in one batch.
    public var batchCountMax = 100
    /// The length of the events in one batch, in bytes; a longer event travels alone.
    public var batchLengthMax = 262_144
    /// How long an endpoint may take to answer, connecting included.
    public var timeout: Duration = .seconds(4)
    /// How long after its `time_ms` a webhook is tried again: receivers refuse older ones.
    public var retryPeriod: Duration = .seconds(300)
    /// The webhooks that wait for one endpoint; beyond it the oldest become dead letters.
    public var queueCountMax = 10_000
    /// The length of the webhooks that wait for one endpoint, in bytes; beyond it the oldest become dead letters.
    public var queueLengthMax = 67_108_864
    /// The requests that are under way to one endpoint at a time.
    public var sendsMax = 8
    /// The reports that wait to be looked at; beyond it the oldest are dropped and counted.
    public var reportCountMax = 65_536
    /// The length of the client events among them, in bytes; beyond it the oldest reports are dropped and counted.
    public var reportLengthMax = 67_108_864
    /// The departures that wait for ``absenceDelay``; beyond it the oldest are told at once.
    public var absenceCountMax = 100_000
    /// The dead letters that are kept; beyond it the oldest are deleted.
    public var deadLetterCountMax = 10_000
    /// The length of the dead letters that are kept, in bytes; beyond it the oldest are deleted.
    ///
    /// In memory, without a file or while it cannot be written, it is an eighth of that.
    public var deadLetterLengthMax = 268_435_456
    /// Told how often a limit was met; called on the thread of the webhooks.
    public var met: @Sendable (Limit, Int) -> Void = { _, _ in }

    /// Settings with their defaults.
    ///
    /// - Parameters:
    ///   - path: The SQLite file; `nil` for memory alone.
    ///   - trustFile: A PEM file of certificates to trust as well.
    public init(path: String? = nil, trustFile: String? = nil) {
        self.path = path
        self.trustFile = trustFile
    }
}
