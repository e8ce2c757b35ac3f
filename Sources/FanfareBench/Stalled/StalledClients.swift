import Net
import PusherProtocol

/// Subscribers that stop reading as soon as they are subscribed.
///
/// A stalled reader cannot know that the server has closed it. So each reads again when more has been sent to it than
/// the server may hold back: what it must find then is the server's close frame, or that the connection has ended. Then
/// it comes back, at a bounded pace, and stops reading again.
final class StalledClients: BenchClientDelegate {
    /// How the server ended their connections.
    private(set) var disconnections = DisconnectionCounts()
    /// How often one that read again was sent what was publishedByteCounts only then: the server had not closed it.
    private(set) var unclosedCount = 0
    /// How many are subscribed and do not read.
    private(set) var stalledCount = 0
    /// The first thing that went wrong with the generator.
    private(set) var failure: BenchError?

    private let generator: LoadGenerator
    private let subscribers: Subscribers
    private var scanner: EventMarkerScanner
    private let backlog: Int
    private let reconnectInterval: Duration
    private var slots: [Slot]
    /// Who is to connect, the next one last.
    private var reconnectQueue: [Int] = []
    private var inProgressCount = 0
    /// Bytes of data that were sent to each channel.
    private var publishedByteCounts: [Int]
    private var isActive = false
    private var hasConnected = false
    private var nextReconnect: MonotonicTime?
    private var checkedAt: MonotonicTime?

    private enum Slot {
        case disconnected
        case connecting
        /// It stopped reading when so many bytes had been sent to its channel.
        case stalled(BenchClient, since: Int)
        /// It reads again, and should find that it was closed before the channel's event with this number.
        case resumed(BenchClient, upcoming: UInt32, until: MonotonicTime)
        case closing
    }

    /// How long one that reads again may take to find the end: TCP may have to repeat what there was no room for, and it
    /// lets as much time pass before that as has passed already.
    private static let resumeTimeMax = Duration.seconds(60)

    /// A clients that nobody belongs to yet.
    ///
    /// - Parameters:
    ///   - count: How many there are.
    ///   - subscribers: Whose channels they subscribe to, one each, in turn.
    ///   - backlog: After how many bytes of data one reads again.
    ///   - reconnectsPerSecond: How many that were closed come back a second, and how many read again.
    ///   - generator: Makes the connections.
    init(
        count: Int,
        beside subscribers: Subscribers,
        backlog: Int,
        reconnectsPerSecond: Double,
        generator: LoadGenerator
    ) {
        self.generator = generator
        self.subscribers = subscribers
        scanner = EventMarkerScanner(run: subscribers.run)
        self.backlog = backlog
        reconnectInterval = .seconds(1 / reconnectsPerSecond)
        slots = [Slot](repeating: .disconnected, count: count)
        publishedByteCounts = [Int](repeating: 0, count: subscribers.channels.count)
    }

    /// Counts what was sent to a channel, in bytes of data.
    func recordPublished(_ count: Int, to channel: Int) { publishedByteCounts[channel] += count }

    /// Whether nobody is connected, or about to be.
    var isDisconnected: Bool {
        inProgressCount == 0
            && slots.allSatisfy { if case .disconnected = $0 { true } else { false } }
    }

    /// Lets all in that the server takes.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether each is in or was refused.
    /// - Throws: Why there can be no connection, or that none has been let in for too long.
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
            // Those who were refused try again like those who were closed.
            reconnectQueue = slots.indices.filter {
                if case .disconnected = slots[$0] { true } else { false }
            }
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

    /// Lets those read again whose time has come, and those come back who were closed.
    func step(at now: MonotonicTime) throws(BenchError) {
        guard isActive, hasConnected else { return }
        if let checkedAt, checkedAt.duration(to: now) < BenchStep.tick { return }
        checkedAt = now
        // All at once they would keep the generator busy, and the readers' latency would be its own.
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
                slots[index] = .closing
                client.reset()
            default: break
            }
        }
        var due = nextReconnect ?? now
        // What was missed while nobody was reconnectQueue is not made up for.
        if due.duration(to: now) > .seconds(1) { due = now }
        while due <= now, let index = reconnectQueue.popLast() {
            try connect(index)
            due = due.advanced(by: reconnectInterval)
        }
        nextReconnect = due
    }

    /// Resets all connections; ``isDisconnected`` tells when that is done.
    func disconnect() {
        isActive = false
        reconnectQueue = []
        for index in slots.indices {
            switch slots[index] {
            case .stalled(let client, _):
                stalledCount -= 1
                slots[index] = .closing
                client.reset()
            case .resumed(let client, _, _):
                slots[index] = .closing
                client.reset()
            case .disconnected, .connecting, .closing: break
            }
        }
    }

    private func channel(of index: Int) -> Int { index % subscribers.channels.count }

    private func connect(_ index: Int) throws(BenchError) {
        slots[index] = .connecting
        inProgressCount += 1
        try generator.connector.connect(index, delegate: self, on: generator.reactor)
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

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient, as socketID: SocketID) {
        let channel = subscribers.channels[channel(of: client.index)]
        client.subscribe(generator.target.subscription(to: channel, of: socketID))
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        inProgressCount -= 1
        guard isActive else {
            slots[client.index] = .closing
            return client.reset()
        }
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
            slots[client.index] = .closing
            client.reset()
        }
        return true
    }

    func clientClosed(_ client: BenchClient, isClean: Bool) { markDisconnected(client.index) }

    func clientDisconnected(_ client: BenchClient, _ disconnection: Disconnection) -> Bool {
        disconnections.count(disconnection)
        markDisconnected(client.index)
        return true
    }

    func clientFailed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
