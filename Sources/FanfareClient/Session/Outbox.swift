import PusherProtocol

/// Client events that wait for their channel, or for their turn.
struct Outbox {
    /// What may wait, and how fast it may leave.
    struct Limits {
        var countMax = 100
        var bytesMax = 256 << 10
        /// What a broker takes in a second from one connection; `nil` to send without a pause.
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
    /// How many events may leave at once, as of `filledAt`.
    private var tokens: Double
    private var filledAt = Duration.zero
    /// Whether the session will be reminded.
    var isWaiting = false

    init(limits: Limits) {
        self.limits = limits
        tokens = Outbox.tokensMax(limits)
    }

    /// A fifth less than what a broker allows in one go: events may come closer together than they left.
    private static func tokensMax(_ limits: Limits) -> Double {
        max(1, Double(limits.perSecond ?? 1) * 0.8)
    }

    /// Whether an event of this channel has to wait behind another.
    func holds(_ channel: String) -> Bool { entries.contains { $0.event.channel == channel } }

    /// How many events of a channel wait.
    func count(of channel: String) -> Int { entries.count { $0.event.channel == channel } }

    /// Keeps an event, or returns `false` when there is no room.
    mutating func add(_ event: ClientEvent) -> Bool {
        let length = event.nameToken.count + (event.dataToken?.count ?? 0)
        guard entries.count < limits.countMax, bytes + length <= limits.bytesMax else {
            return false
        }
        entries.append(Entry(event: event, bytes: length))
        bytes += length
        return true
    }

    /// Takes leave to send one event now.
    mutating func takeToken(at now: Duration) -> Bool {
        guard let perSecond = limits.perSecond else { return true }
        let refill = (now - filledAt) / .seconds(1) * Double(perSecond)
        tokens = min(Outbox.tokensMax(limits), tokens + max(0, refill))
        filledAt = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// How long until the next event may leave.
    var pause: Duration {
        guard let perSecond = limits.perSecond else { return .zero }
        return .seconds(max(0, 1 - tokens) / Double(perSecond)) + .milliseconds(1)
    }

    /// Takes out the first event of a channel that is open.
    mutating func next(where isOpen: (String) -> Bool) -> ClientEvent? {
        guard let index = entries.firstIndex(where: { isOpen($0.event.channel) }) else {
            return nil
        }
        let entry = entries.remove(at: index)
        bytes -= entry.bytes
        return entry.event
    }

    /// Whether an event could leave.
    func hasNext(where isOpen: (String) -> Bool) -> Bool {
        entries.contains { isOpen($0.event.channel) }
    }

    /// Takes out all events, or those of one channel: their channels and names.
    mutating func removeAll(of channel: String? = nil) -> [(channel: String, event: String)] {
        let dropped = entries.filter { channel == nil || $0.event.channel == channel }
        entries.removeAll { channel == nil || $0.event.channel == channel }
        bytes -= dropped.reduce(0) { $0 + $1.bytes }
        return dropped.map { ($0.event.channel, $0.event.name) }
    }
}
