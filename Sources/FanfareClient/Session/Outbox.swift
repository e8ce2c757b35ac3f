import PusherProtocol

/// The client events that wait for their subscription or for the rate limit.
struct Outbox {
    /// The limits of the queue, and the rate limit.
    struct Limits {
        var countMax = 100
        var bytesMax = 256 << 10
        /// The most events sent in a second on one connection; `nil` for no limit.
        var perSecond: Int? = 10
        var dataLengthMax = 10_240
    }

    private struct Entry {
        var event: ClientEvent
        var bytes: Int
    }

    let limits: Limits
    private var entries: [Entry] = []
    private var bytes = 0
    /// The tokens of the rate limit at `filledAt`.
    private var tokens: Double
    private var filledAt = Duration.zero
    /// Whether an alarm for the next token is running.
    var isWaiting = false

    init(limits: Limits) {
        self.limits = limits
        tokens = Outbox.tokensMax(limits)
    }

    /// The burst size: a fifth less than a broker's, since events may arrive closer together than they were sent.
    private static func tokensMax(_ limits: Limits) -> Double {
        max(1, Double(limits.perSecond ?? 1) * 0.8)
    }

    /// Whether events of this channel wait.
    func holds(_ channel: String) -> Bool { entries.contains { $0.event.channel == channel } }

    /// The number of waiting events of a channel.
    func count(of channel: String) -> Int { entries.count { $0.event.channel == channel } }

    /// Queues an event; returns `false` when there is no room.
    mutating func add(_ event: ClientEvent) -> Bool {
        let length = event.nameToken.count + (event.dataToken?.count ?? 0)
        guard entries.count < limits.countMax, bytes + length <= limits.bytesMax else {
            return false
        }
        entries.append(Entry(event: event, bytes: length))
        bytes += length
        return true
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

    /// Removes and returns the first event of an open channel.
    mutating func next(where isOpen: (String) -> Bool) -> ClientEvent? {
        guard let index = entries.firstIndex(where: { isOpen($0.event.channel) }) else {
            return nil
        }
        let entry = entries.remove(at: index)
        bytes -= entry.bytes
        return entry.event
    }

    /// Whether an event of an open channel waits.
    func hasNext(where isOpen: (String) -> Bool) -> Bool {
        entries.contains { isOpen($0.event.channel) }
    }

    /// Removes all events, or those of one channel, and returns their channels and names.
    mutating func removeAll(of channel: String? = nil) -> [(channel: String, event: String)] {
        let dropped = entries.filter { channel == nil || $0.event.channel == channel }
        entries.removeAll { channel == nil || $0.event.channel == channel }
        bytes -= dropped.reduce(0) { $0 + $1.bytes }
        return dropped.map { ($0.event.channel, $0.event.name) }
    }
}
