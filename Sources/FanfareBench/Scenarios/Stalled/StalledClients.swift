import Net
import PusherProtocol

/// Subscribers that stop reading as soon as they are subscribed.
///
/// A client that does not read cannot notice that the server has closed its connection. So each client resumes reading
/// when more has been sent to it than the server may queue: then it must find a close frame, or the end of the
/// connection. It reconnects, at a limited rate, and stops reading again.
final class StalledClients: BenchClientDelegate {
    private(set) var disconnections = DisconnectionCounts()
    /// How often a client that resumed reading received an event published after that: the server had not closed it.
    private(set) var unclosedCount = 0
    private(set) var stalledCount = 0
    let generator: LoadGenerator

    private let subscribers: Subscribers
    private var scanner: EventMarkerScanner
    private let backlog: Int
    private let reconnectInterval: Duration
    private var slots: [Slot]
    /// The indices of the clients to connect; the last one is next.
    private var reconnectQueue: [Int] = []
    private var inProgressCount = 0
    private var publishedByteCounts: [Int]
    private var isActive = false
    private var hasConnected = false
    private var nextReconnect: MonotonicTime?
    private var checkedAt: MonotonicTime?

    private enum Slot {
        case disconnected
        case connecting
        /// Subscribed and not reading, since this many bytes were published to its channel.
        case stalled(BenchClient, since: Int)
        /// Reading again. It should find that it was closed before the channel's event with this number.
        case resumed(BenchClient, upcoming: UInt32, until: MonotonicTime)
        case closing
    }

    /// How long a client that resumed reading may take to find the end: TCP retransmits what did not fit, after a time
    /// that grows with each attempt.
    private static let resumeTimeMax = Duration.seconds(60)

    /// Creates clients that subscribe to the readers' channels in turn, and resume reading after a backlog in bytes.
    ///
    /// At most `reconnectsPerSecond` clients reconnect per second, and as many resume reading.
    init(count: Int, beside subscribers: Subscribers, backlog: Int, reconnectsPerSecond: Double) {
        generator = subscribers.generator
        self.subscribers = subscribers
        scanner = EventMarkerScanner(run: subscribers.run)
        self.backlog = backlog
        reconnectInterval = .seconds(1 / reconnectsPerSecond)
        slots = [Slot](repeating: .disconnected, count: count)
        publishedByteCounts = [Int](repeating: 0, count: subscribers.channels.count)
    }

    func recordPublished(_ count: Int, to channel: Int) { publishedByteCounts[channel] += count }

    /// Whether no client is connected or connecting.
    var isDisconnected: Bool { inProgressCount == 0 && disconnected.count == slots.count }

    private var disconnected: [Int] {
        slots.indices.filter { if case .disconnected = slots[$0] { true } else { false } }
    }

    /// Connects all clients that the server accepts; returns whether each is subscribed or was refused.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        if !isActive {
            isActive = true
            hasConnected = false
            reconnectQueue = Array(slots.indices.reversed())
            generator.resetStallTimer(at: now)
        }
        while inProgressCount < ConnectionRamp.pendingMax, let index = reconnectQueue.popLast() {
            try connect(index)
        }
        if reconnectQueue.isEmpty, inProgressCount == 0 {
            hasConnected = true
            // Clients that were refused reconnect like those that were closed.
            reconnectQueue = disconnected
            return true
        }
        if generator.isStalled(slots.count - reconnectQueue.count - inProgressCount, at: now) {
            throw .connectingStalled(
                connected: stalledCount,
                of: slots.count,
                timeout: generator.target.stallTimeout
            )
        }
        return false
    }

    /// Resumes reading where it is due, and reconnects closed clients.
    func step(at now: MonotonicTime) throws(BenchError) {
        guard isActive, hasConnected else { return }
        if let checkedAt, checkedAt.duration(to: now) < BenchStep.tick { return }
        checkedAt = now
        // All at once would keep the generator busy, and add to the readers' latency.
        let resumeCountMax = max(1, Int(BenchStep.tick / reconnectInterval))
        var resumeCount = 0
        for index in slots.indices {
            switch slots[index] {
            case .stalled(let client, let since)
            where resumeCount < resumeCountMax
                && publishedByteCounts[channel(of: index)] - since >= backlog:
                resumeCount += 1
                stalledCount -= 1
                slots[index] = .resumed(
                    client,
                    upcoming: subscribers.tracker.nextNumber(on: channel(of: index)),
                    until: now.advanced(by: Self.resumeTimeMax)
                )
                client.resumeReading()
            case .resumed(let client, _, let end) where now >= end:
                disconnections.count(Disconnection(wasSubscribed: true, code: nil))
                reset(client)
            default: break
            }
        }
        var due = nextReconnect ?? now
        // Time in which no client was waiting to reconnect does not count for the rate.
        if due.duration(to: now) > .seconds(1) { due = now }
        while due <= now, let index = reconnectQueue.popLast() {
            try connect(index)
            due = due.advanced(by: reconnectInterval)
        }
        nextReconnect = due
    }

    /// Resets all connections; ``isDisconnected`` becomes true when that is done.
    func disconnect() {
        isActive = false
        reconnectQueue = []
        for index in slots.indices {
            switch slots[index] {
            case .stalled(let client, _):
                stalledCount -= 1
                reset(client)
            case .resumed(let client, _, _): reset(client)
            case .disconnected, .connecting, .closing: break
            }
        }
    }

    private func reset(_ client: BenchClient) {
        slots[client.index] = .closing
        client.reset()
    }

    private func channel(of index: Int) -> Int { index % subscribers.channels.count }

    private func connect(_ index: Int) throws(BenchError) {
        slots[index] = .connecting
        inProgressCount += 1
        try generator.connect(index, self)
    }

    private func markDisconnected(_ index: Int) {
        switch slots[index] {
        case .stalled: stalledCount -= 1
        case .connecting: inProgressCount -= 1
        case .disconnected, .resumed, .closing: break
        }
        slots[index] = .disconnected
        if isActive, hasConnected { reconnectQueue.insert(index, at: 0) }
    }

    func clientConnected(_ client: BenchClient) {
        client.subscribe(to: subscribers.channels[channel(of: client.index)])
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        inProgressCount -= 1
        guard isActive else { return reset(client) }
        stalledCount += 1
        let since = publishedByteCounts[channel(of: client.index)]
        slots[client.index] = .stalled(client, since: since)
        client.pauseReading()
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let marker = scanner.find(in: text) else { return false }
        if case .resumed(_, let upcoming, _) = slots[client.index], marker.sequence >= upcoming {
            unclosedCount += 1
            reset(client)
        }
        return true
    }

    func clientClosed(_ client: BenchClient, isClean: Bool) { markDisconnected(client.index) }

    func clientDisconnected(_ client: BenchClient, _ disconnection: Disconnection) -> Bool {
        disconnections.count(disconnection)
        markDisconnected(client.index)
        return true
    }
}
