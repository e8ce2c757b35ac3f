import FanfareOutbox
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
    private var isWaiting = false
    /// Whether an alarm for missing receipts is running.
    private var isTimed = false

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

    // MARK: Adding

    /// Adds an event after all others.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - channel: The channel.
    ///   - state: The state of its subscription.
    ///   - json: The data as JSON text.
    ///   - key: The idempotency key, which the receipt has too; `nil` for no receipt and no retry.
    /// - Throws: The reason it can be neither sent nor queued.
    mutating func add(
        _ name: String,
        on channel: String,
        _ state: Subscription.State?,
        json: [UInt8],
        key: IdempotencyKey?
    ) throws(FanfareError) {
        let event = ClientEvent(
            nameToken: JSONWriter.token(name),
            channel: channel,
            dataToken: json,
            key: key
        )
        let length = Self.length(event)
        if let reason = refusal(of: name, on: channel, state, json) ?? refusal(ofLength: length) {
            throw .clientEventRefused(event: name, channel: channel, reason: reason)
        }
        waiting.append(Entry(event: event, bytes: length))
        bytes += length
    }

    private func refusal(
        of name: String,
        on channel: String,
        _ state: Subscription.State?,
        _ json: [UInt8]
    ) -> String? {
        // Compares bytes, as the broker does: with a combining mark, the hyphen would be part of another character.
        guard name.utf8.starts(with: "client-".utf8), name != "client-" else {
            return "its name must begin with client-, followed by at least one character"
        }
        let lengthMax = ProtocolLimits().eventNameLengthMax
        guard name.count <= lengthMax else {
            return "its name has \(name.count) characters of \(lengthMax) allowed"
        }
        let kind = ChannelKind(ofName: channel)
        guard kind.allowsClientEvents else {
            return "only private and presence channels allow client events"
        }
        guard !kind.isEncrypted else { return "encrypted channels do not allow client events" }
        guard json.count <= limits.dataLengthMax else {
            return "its data has \(json.count) bytes of \(limits.dataLengthMax) allowed"
        }
        switch state {
        case nil, .leaving: return "the channel is not subscribed. Call subscribe() first"
        case .refused: return "the subscription was refused"
        case .wanted, .authorizing, .awaitingUser, .pending, .postponed, .subscribed: return nil
        }
    }

    private func refusal(ofLength length: Int) -> String? {
        guard waiting.count + sent.count >= limits.countMax || bytes + length > limits.bytesMax
        else { return nil }
        let limits = "\(limits.countMax) events or \(limits.bytesMax) bytes"
        return
            "the queue is full (\(limits)). Send less often, or raise ClientOptions.limits.clientEventQueue…Max"
    }

    /// Adds the events of an earlier run of the app before all others, and allows sending.
    mutating func restore(_ events: [OutboxEvent]) {
        let entries = events.map { stored in
            let event = ClientEvent(
                nameToken: JSONWriter.token(stored.name),
                channel: stored.channel,
                dataToken: Array(stored.data.utf8),
                key: IdempotencyKey(stored.key)
            )
            return Entry(event: event, bytes: Self.length(event))
        }
        waiting = entries + waiting
        bytes += entries.reduce(0) { $0 + $1.bytes }
        isHeld = false
    }

    private static func length(_ event: ClientEvent) -> Int {
        event.nameToken.count + (event.dataToken?.count ?? 0)
    }

    // MARK: Sending

    /// Sends the waiting events of open channels, within the rate limit; they are kept until their receipts arrive.
    mutating func send(at now: Duration, where isOpen: (String) -> Bool) -> [SessionEffect] {
        var effects: [SessionEffect] = []
        while !isHeld, let index = waiting.firstIndex(where: { isOpen($0.event.channel) }) {
            guard takeToken(at: now) else {
                guard !exchange(&isWaiting, with: true) else { return effects }
                return effects + [.startAlarm(.clientEvents, pause)]
            }
            var entry = waiting.remove(at: index)
            if expectsReceipts {
                entry.sentAt = now
                entry.attemptCount += 1
                sent.append(entry)
            } else {
                bytes -= entry.bytes
                if let key = entry.event.key.take() {
                    effects.append(.settled(key: key.text, .success(.sent)))
                }
            }
            effects.append(.send(.clientEvent(entry.event)))
        }
        return effects + awaitReceipts()
    }

    /// Continues after the pause of the rate limit.
    mutating func resume(at now: Duration, where isOpen: (String) -> Bool) -> [SessionEffect] {
        isWaiting = false
        return send(at: now, where: isOpen)
    }

    /// Consumes one token of the rate limit, if there is one.
    private mutating func takeToken(at now: Duration) -> Bool {
        guard let perSecond = limits.perSecond else { return true }
        let refill = (now - filledAt) / .seconds(1) * Double(perSecond)
        tokens = min(Outbox.tokensMax(limits), tokens + max(0, refill))
        filledAt = now
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// The time until the next token.
    private var pause: Duration {
        guard let perSecond = limits.perSecond else { return .zero }
        return .seconds(max(0, 1 - tokens) / Double(perSecond)) + .milliseconds(1)
    }

    // MARK: Receipts

    /// Handles the broker's receipt for an event.
    mutating func confirm(_ key: String, on channel: String) -> [SessionEffect] {
        // A receipt may be handled after the connection's loss, for an event that waits to be sent again.
        let isIt = { (entry: Entry) in
            entry.event.key?.text == key && entry.event.channel == channel
        }
        if let index = sent.firstIndex(where: isIt) {
            bytes -= sent.remove(at: index).bytes
        } else if let index = waiting.firstIndex(where: isIt) {
            bytes -= waiting.remove(at: index).bytes
        } else {
            return []
        }
        return [.settled(key: key, .success(.accepted))]
    }

    /// Starts the alarm for missing receipts.
    private mutating func awaitReceipts() -> [SessionEffect] {
        guard !sent.isEmpty, !exchange(&isTimed, with: true) else { return [] }
        return [.startAlarm(.receipts, Self.receiptTimeout)]
    }

    /// Sends the events with a late receipt again before all others, and drops those that were sent too often.
    mutating func retryLate(at now: Duration, where isOpen: (String) -> Bool) -> [SessionEffect] {
        isTimed = false
        let isLate = { (entry: Entry) in now - entry.sentAt >= Self.receiptTimeout }
        let late = sent.filter(isLate)
        sent.removeAll(where: isLate)
        waiting = late.filter { $0.attemptCount < Self.attemptCountMax } + waiting
        let refused = late.filter { $0.attemptCount >= Self.attemptCountMax }
        bytes -= refused.reduce(0) { $0 + $1.bytes }
        let reason = "the broker sent no receipt; a separate error has the reason"
        return report(refused, because: reason) + send(at: now, where: isOpen) + awaitReceipts()
    }

    /// Stops the alarms, and moves the events without a receipt to the front of the queue.
    mutating func endConnection() -> [SessionEffect] {
        for index in sent.indices { sent[index].attemptCount = 0 }
        waiting = sent + waiting
        sent = []
        expectsReceipts = false
        let alarms: [SessionEffect] = isWaiting ? [.stopAlarm(.clientEvents)] : []
        isWaiting = false
        return exchange(&isTimed, with: false) ? alarms + [.stopAlarm(.receipts)] : alarms
    }

    // MARK: Dropping

    /// Drops the events of one channel or of all, and reports them.
    mutating func drop(of channel: String? = nil, because error: FanfareError) -> [SessionEffect] {
        report(removeAll(of: channel), because: error.description)
    }

    /// Drops the events of one channel without a report.
    mutating func discard(of channel: String) -> [SessionEffect] {
        removeAll(of: channel).compactMap(\.event.key).map {
            .settled(key: $0.text, .failure(.unsubscribed(channel: channel)))
        }
    }

    private mutating func removeAll(of channel: String?) -> [Entry] {
        let isIt = { (entry: Entry) in channel == nil || entry.event.channel == channel }
        let removed = sent.filter(isIt) + waiting.filter(isIt)
        sent.removeAll(where: isIt)
        waiting.removeAll(where: isIt)
        bytes -= removed.reduce(0) { $0 + $1.bytes }
        return removed
    }

    private func report(_ entries: [Entry], because reason: String) -> [SessionEffect] {
        let byChannel = Dictionary(grouping: entries.map(\.event), by: \.channel)
        return byChannel.sorted { $0.key < $1.key }.flatMap { channel, events -> [SessionEffect] in
            let error = FanfareError.clientEventsDropped(
                channel: channel,
                events: events.map(\.name),
                reason: reason
            )
            let keys = events.compactMap(\.key?.text)
            return [.report(error)] + keys.map { .settled(key: $0, .failure(error)) }
        }
    }
}
