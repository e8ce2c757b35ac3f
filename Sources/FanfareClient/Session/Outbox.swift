import PusherProtocol

/// The client events without confirmation: they wait for their subscription or the rate limit, or for their receipt.
///
/// Events keep their order, also after a disconnect: those without a receipt are sent again with the same key.
struct Outbox {
    /// The limits of the queue, and the rate limit.
    struct Limits {
        var countMax = 100
        var bytesMax = 256 << 10
        /// The most events sent per second on one connection; `nil` for no limit.
        var perSecond: Int? = 10
        var dataLengthMax = 10_240
    }

    /// An event that was removed without a receipt.
    struct Dropped: Equatable {
        var channel: String
        var event: String
        var key: IdempotencyKey?
    }

    private struct Entry {
        var event: ClientEvent
        var bytes: Int
        /// The time of the last attempt.
        var sentAt = Duration.zero
        var attemptCount = 0
    }

    /// The time within which a receipt is expected; without a receipt the event is sent again.
    static let receiptTimeout = Duration.seconds(10)
    /// The most attempts on one connection; after them the event counts as refused by the broker.
    static let attemptCountMax = 3

    let limits: Limits
    /// Whether nothing is sent because the stored events of an earlier run of the app are being read.
    var isHeld = false
    /// Whether the broker sends receipts on this connection.
    var expectsReceipts = false
    /// The events to send, in order.
    private var waiting: [Entry] = []
    /// The events without a receipt, in the order in which they were sent.
    private var sent: [Entry] = []
    private var bytes = 0
    /// The tokens of the rate limit at `filledAt`.
    private var tokens: Double
    private var filledAt = Duration.zero
    /// Whether an alarm for the next token is running.
    var isWaiting = false
    /// Whether an alarm for missing receipts is running.
    var isTimed = false

    init(limits: Limits) {
        self.limits = limits
        tokens = Outbox.tokensMax(limits)
    }

    /// The burst size: a fifth below a broker's, since events may arrive closer together than they were sent.
    private static func tokensMax(_ limits: Limits) -> Double {
        max(1, Double(limits.perSecond ?? 1) * 0.8)
    }

    /// The keys of all events, in the order in which they are sent.
    var keys: [String] { (sent + waiting).compactMap { $0.event.key?.text } }

    /// Whether events of this channel wait to be sent.
    func holds(_ channel: String) -> Bool { waiting.contains { $0.event.channel == channel } }

    /// The number of events of a channel that wait to be sent.
    func count(of channel: String) -> Int { waiting.count { $0.event.channel == channel } }

    /// Whether events were sent and have no receipt.
    var awaitsReceipts: Bool { !sent.isEmpty }

    // MARK: Sending

    /// Adds an event after all others; returns `false` when the queue is full.
    mutating func add(_ event: ClientEvent) -> Bool {
        let length = Self.length(event)
        guard waiting.count + sent.count < limits.countMax, bytes + length <= limits.bytesMax
        else { return false }
        waiting.append(Entry(event: event, bytes: length))
        bytes += length
        return true
    }

    /// Adds the events of an earlier run of the app before all others, and allows sending.
    mutating func restore(_ events: [ClientEvent]) {
        let entries = events.map { Entry(event: $0, bytes: Self.length($0)) }
        waiting = entries + waiting
        bytes += entries.reduce(0) { $0 + $1.bytes }
        isHeld = false
    }

    private static func length(_ event: ClientEvent) -> Int {
        event.nameToken.count + (event.dataToken?.count ?? 0)
    }

    /// Consumes one token of the rate limit, if there is one.
    mutating func takeToken(at now: Duration) -> Bool {
        guard let perSecond = limits.perSecond else { return true }
        let refill = (now - filledAt) / .seconds(1) * Double(perSecond)
        tokens = min(Outbox.tokensMax(limits), tokens + max(0, refill))
        filledAt = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// The time until the next token.
    var pause: Duration {
        guard let perSecond = limits.perSecond else { return .zero }
        return .seconds(max(0, 1 - tokens) / Double(perSecond)) + .milliseconds(1)
    }

    /// Returns the first waiting event of an open channel to send now; the event is kept until its receipt arrives.
    mutating func next(at now: Duration, where isOpen: (String) -> Bool) -> ClientEvent? {
        guard let index = waiting.firstIndex(where: { isOpen($0.event.channel) }) else {
            return nil
        }
        var entry = waiting.remove(at: index)
        entry.sentAt = now
        entry.attemptCount += 1
        if expectsReceipts { sent.append(entry) } else { bytes -= entry.bytes }
        return entry.event
    }

    /// Whether an event of an open channel waits.
    func hasNext(where isOpen: (String) -> Bool) -> Bool {
        !isHeld && waiting.contains { isOpen($0.event.channel) }
    }

    // MARK: Receipts

    /// Removes the event that the broker has confirmed; returns whether there was one.
    mutating func confirm(_ key: String, on channel: String) -> Bool {
        // A receipt may be handled after the connection's loss, for an event that waits to be sent again.
        let isIt = { (entry: Entry) in
            entry.event.key?.text == key && entry.event.channel == channel
        }
        if let index = sent.firstIndex(where: isIt) {
            bytes -= sent.remove(at: index).bytes
        } else if let index = waiting.firstIndex(where: isIt) {
            bytes -= waiting.remove(at: index).bytes
        } else {
            return false
        }
        return true
    }

    /// Moves events without a receipt to the front of the queue, because the connection has ended.
    mutating func connectionEnded() {
        for index in sent.indices { sent[index].attemptCount = 0 }
        waiting = sent + waiting
        sent = []
        expectsReceipts = false
    }

    /// Moves events with a late receipt to the front of the queue, and removes those that were sent too often.
    mutating func retryLate(at now: Duration) -> [Dropped] {
        let isLate = { (entry: Entry) in now - entry.sentAt >= Self.receiptTimeout }
        let late = sent.filter(isLate)
        sent.removeAll(where: isLate)
        let refused = late.filter { $0.attemptCount >= Self.attemptCountMax }
        waiting = late.filter { $0.attemptCount < Self.attemptCountMax } + waiting
        bytes -= refused.reduce(0) { $0 + $1.bytes }
        return refused.map(Self.dropped)
    }

    // MARK: Dropping

    /// Removes all events, or those of one channel.
    mutating func removeAll(of channel: String? = nil) -> [Dropped] {
        let isIt = { (entry: Entry) in channel == nil || entry.event.channel == channel }
        let dropped = sent.filter(isIt) + waiting.filter(isIt)
        sent.removeAll(where: isIt)
        waiting.removeAll(where: isIt)
        bytes -= dropped.reduce(0) { $0 + $1.bytes }
        return dropped.map(Self.dropped)
    }

    private static func dropped(_ entry: Entry) -> Dropped {
        Dropped(channel: entry.event.channel, event: entry.event.name, key: entry.event.key)
    }
}
