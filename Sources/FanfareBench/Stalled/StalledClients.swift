import Net
import PusherProtocol

/// Subscribers that stop reading as soon as they are subscribed.
///
/// A stalled reader cannot know that the server has closed it. So each reads again when more has been sent to it than
/// the server may hold back: what it must find then is the server's close frame, or that the connection has ended. Then
/// it comes back, at a bounded pace, and stops reading again.
final class StalledCrowd: Crowd {
    /// How the server ended their connections.
    private(set) var partings = Partings()
    /// How often one that read again was sent what was published only then: the server had not closed it.
    private(set) var unclosedCount = 0
    /// How many are subscribed and do not read.
    private(set) var stalledCount = 0
    /// The first thing that went wrong with the generator.
    private(set) var failure: BenchError?

    private let generator: Generator
    private let audience: Subscribers
    private var scanner: MarkerScanner
    private let backlog: Int
    private let reconnectInterval: Duration
    private var places: [Place]
    /// Who is to connect, the next one last.
    private var absent: [Int] = []
    private var underWayCount = 0
    /// Bytes of data that were sent to each channel.
    private var published: [Int]
    private var isWanted = false
    private var hasGathered = false
    private var nextReconnect: MonotonicTime?
    private var checkedAt: MonotonicTime?

    private enum Place {
        case absent
        case coming
        /// It stopped reading when so many bytes had been sent to its channel.
        case stalled(Device, since: Int)
        /// It reads again, and should find that it was closed before the channel's event with this number.
        case waking(Device, upcoming: UInt32, until: MonotonicTime)
        case leaving
    }

    /// How long one that reads again may take to find the end: TCP may have to repeat what there was no room for, and it
    /// lets as much time pass before that as has passed already.
    private static let wakingTime = Duration.seconds(60)

    /// A crowd that nobody belongs to yet.
    ///
    /// - Parameters:
    ///   - count: How many there are.
    ///   - audience: Whose channels they subscribe to, one each, in turn.
    ///   - backlog: After how many bytes of data one reads again.
    ///   - reconnectsPerSecond: How many that were closed come back a second, and how many read again.
    ///   - generator: Makes the connections.
    init(
        count: Int,
        beside audience: Subscribers,
        backlog: Int,
        reconnectsPerSecond: Double,
        generator: Generator
    ) {
        self.generator = generator
        self.audience = audience
        scanner = MarkerScanner(run: audience.run)
        self.backlog = backlog
        reconnectInterval = .seconds(1 / reconnectsPerSecond)
        places = [Place](repeating: .absent, count: count)
        published = [Int](repeating: 0, count: audience.channels.count)
    }

    /// Counts what was sent to a channel, in bytes of data.
    func notePublished(_ count: Int, to channel: Int) { published[channel] += count }

    /// Whether nobody is connected, or about to be.
    var isGone: Bool {
        underWayCount == 0
            && places.allSatisfy { if case .absent = $0 { true } else { false } }
    }

    /// Lets all in that the server takes.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether each is in or was refused.
    /// - Throws: Why there can be no connection, or that none has been let in for too long.
    func gather(at now: MonotonicTime) throws(BenchError) -> Bool {
        if !isWanted {
            isWanted = true
            hasGathered = false
            absent = Array(places.indices.reversed())
            generator.renewPatience(at: now)
        }
        while underWayCount < Admission.underWayMax, let index = absent.popLast() {
            try connect(index)
        }
        if absent.isEmpty, underWayCount == 0 {
            hasGathered = true
            // Those who were refused try again like those who were closed.
            absent = places.indices.filter { if case .absent = places[$0] { true } else { false } }
            return true
        }
        if generator.isStalled(places.count - absent.count - underWayCount, at: now) {
            throw .connectingStalled(
                admitted: stalledCount,
                of: places.count,
                patience: generator.subject.patience
            )
        }
        return false
    }

    /// Lets those read again whose time has come, and those come back who were closed.
    func step(at now: MonotonicTime) throws(BenchError) {
        guard isWanted, hasGathered else { return }
        if let checkedAt, checkedAt.duration(to: now) < BenchStep.tick { return }
        checkedAt = now
        // All at once they would keep the generator busy, and the readers' latency would be its own.
        let wakeCountMax = max(1, Int(BenchStep.tick / reconnectInterval))
        var wakeCount = 0
        for index in places.indices {
            switch places[index] {
            case .stalled(let device, let since)
            where wakeCount < wakeCountMax
                && published[channel(of: index)] - since >= backlog:
                wakeCount += 1
                stalledCount -= 1
                places[index] = .waking(
                    device,
                    upcoming: audience.tally.upcoming(on: channel(of: index)),
                    until: now.advanced(by: Self.wakingTime)
                )
                device.wake()
            case .waking(let device, _, let end) where now >= end:
                partings.count(Parting(wasSubscribed: true, code: nil))
                places[index] = .leaving
                device.reset()
            default: break
            }
        }
        var due = nextReconnect ?? now
        // What was missed while nobody was absent is not made up for.
        if due.duration(to: now) > .seconds(1) { due = now }
        while due <= now, let index = absent.popLast() {
            try connect(index)
            due = due.advanced(by: reconnectInterval)
        }
        nextReconnect = due
    }

    /// Resets all connections; ``isGone`` tells when that is done.
    func dismiss() {
        isWanted = false
        absent = []
        for index in places.indices {
            switch places[index] {
            case .stalled(let device, _):
                stalledCount -= 1
                places[index] = .leaving
                device.reset()
            case .waking(let device, _, _):
                places[index] = .leaving
                device.reset()
            case .absent, .coming, .leaving: break
            }
        }
    }

    private func channel(of index: Int) -> Int { index % audience.channels.count }

    private func connect(_ index: Int) throws(BenchError) {
        places[index] = .coming
        underWayCount += 1
        try generator.dialer.connect(index, of: self, on: generator.reactor)
    }

    private func vacate(_ index: Int) {
        switch places[index] {
        case .stalled: stalledCount -= 1
        case .coming: underWayCount -= 1
        case .absent, .waking, .leaving: break
        }
        places[index] = .absent
        if isWanted, hasGathered { absent.insert(index, at: 0) }
    }

    // MARK: Crowd

    func greeted(_ device: Device, as socketID: SocketID) {
        let channel = audience.channels[channel(of: device.index)]
        device.subscribe(generator.subject.subscription(to: channel, of: socketID))
    }

    func acknowledged(_ device: Device, at now: MonotonicTime) {
        underWayCount -= 1
        guard isWanted else {
            places[device.index] = .leaving
            return device.reset()
        }
        stalledCount += 1
        let since = published[channel(of: device.index)]
        places[device.index] = .stalled(device, since: since)
        device.stall()
    }

    func heard(_ text: Span<UInt8>, by device: Device, at now: MonotonicTime) -> Bool {
        guard let marker = scanner.find(in: text) else { return false }
        if case .waking(_, let upcoming, _) = places[device.index], marker.sequence >= upcoming {
            unclosedCount += 1
            places[device.index] = .leaving
            device.reset()
        }
        return true
    }

    func left(_ device: Device, isClean: Bool) { vacate(device.index) }

    func parted(_ device: Device, _ parting: Parting) -> Bool {
        partings.count(parting)
        vacate(device.index)
        return true
    }

    func failed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
