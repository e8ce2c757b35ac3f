/// A webhook on its way: a request that is made again until it succeeds or is given up.
struct Delivery: Sendable, Equatable {
    /// What `X-Delivery-Id` says: the same for all attempts, and for no other webhook of this broker.
    let id: Int64
    /// Where it goes.
    let endpoint: EndpointKey
    /// Its `time_ms`, in milliseconds since 1970.
    let time: Int64
    /// The objects of `events`, with commas between them.
    let events: [UInt8]
    /// The channels that it tells of, each once: later webhooks for them have to wait.
    let channels: [String]
    /// When it was made, in milliseconds of ``WebhookClock/uptime``: how long it may be tried does not depend on the
    /// calendar, which may be set to another time meanwhile.
    var birth: Int64 = 0
    /// The attempts begun since the broker started.
    var attempts = 0

    /// The bytes to sign and to send.
    var body: [UInt8] { WebhookBody.bytes(time: time, events: events) }
}

/// Events that are collected for one request.
struct Batch: Sendable {
    /// The objects, with commas between them.
    private(set) var events: [UInt8] = []
    /// The channels, each once.
    private(set) var channels: [String] = []
    /// The number of events.
    private(set) var count = 0
    /// When it has to leave, in milliseconds of ``WebhookClock/uptime``.
    let due: Int64

    private var seen: Set<String> = []

    /// Begins a batch.
    init(due: Int64) { self.due = due }

    /// Adds an event, behind all others.
    mutating func add(_ object: [UInt8], on channel: String) {
        if count > 0 { events.append(UInt8(ascii: ",")) }
        events.append(contentsOf: object)
        count += 1
        if seen.insert(channel).inserted { channels.append(channel) }
    }
}
