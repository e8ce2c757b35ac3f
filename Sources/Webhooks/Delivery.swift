internal import Broker

/// A webhook: a request that is repeated until it succeeds or is abandoned.
struct Delivery: Sendable, Equatable {
    /// The same for all attempts, and unique in this broker.
    let id: Int64
    /// The key of its endpoint.
    let endpoint: EndpointKey
    /// Its `time_ms`, in milliseconds since 1970.
    let time: Int64
    /// The objects of `events`, separated by commas.
    let events: [UInt8]
    /// The channels of its events, each once; blocks later webhooks of them.
    let channels: [String]
    /// Its events, if another queue keeps them.
    var origins: [QueuedEvent.ID] = []
    /// The time of its creation, in milliseconds of ``WebhookClock/uptime``.
    ///
    /// The period of attempts must not depend on the calendar, which can be set.
    var birth: Int64 = 0
    /// The number of attempts since the broker's start.
    var attempts = 0

    /// The bytes to sign and to send.
    var body: [UInt8] { WebhookBody.bytes(time: time, events: events) }

    /// The `X-Delivery-Id`: the same for all attempts, and different for other events, including those of other nodes.
    var headerID: String {
        guard let first = origins.first else { return "\(id)" }
        guard origins.count > 1 else { return first.description }
        // Another node may divide the events into other batches.
        return "\(first.queue)-" + String(Self.hash(originsText), radix: 36)
    }

    /// The `X-Fanfare-Webhook-ID`: the IDs of its events, in their order.
    var originsText: String { origins.map(\.description).joined(separator: ", ") }

    /// FNV-1a, of 64 bits.
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}

/// The events of one request.
struct Batch: Sendable {
    /// The objects, separated by commas.
    private(set) var events: [UInt8] = []
    /// The channels, each once.
    private(set) var channels: [String] = []
    /// The number of events.
    private(set) var count = 0
    /// The events that another queue keeps.
    private(set) var origins: [QueuedEvent.ID] = []
    /// The time of the first of those, in milliseconds since 1970.
    private(set) var originTime: Int64?
    /// The time at which it is closed, in milliseconds of ``WebhookClock/uptime``.
    let due: Int64

    /// Creates an empty batch.
    init(due: Int64) { self.due = due }

    /// Creates the batch of a dead letter that is replayed.
    init(_ letter: DeadLetter) {
        (events, channels, due) = (letter.delivery.events, letter.channels, 0)
    }

    /// Appends an event.
    mutating func add(_ object: [UInt8], on channel: String, from origin: QueuedEvent? = nil) {
        if count > 0 {
            events.append(UInt8(ascii: ","))
            events.append(contentsOf: object)
        } else {
            events = object
        }
        count += 1
        if !channels.contains(channel) { channels.append(channel) }
        guard let origin else { return }
        origins.append(origin.id)
        if originTime == nil { originTime = origin.time }
    }
}
