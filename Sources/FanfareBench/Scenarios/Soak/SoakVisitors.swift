import CommandSupport
import Net
import PusherProtocol

/// Connections that subscribe to the residents' channels for some seconds, check what they receive, and close.
final class SoakVisitors: SoakWorkload, BenchClientDelegate {
    private(set) var deliveryCounts = DeliveryCounts()
    let generator: LoadGenerator

    private let name: String
    private let subscribers: Subscribers
    private var scanner: EventMarkerScanner
    private var visits: [Int: Visit] = [:]
    private let schedule: Schedule
    private var startedCount = 0
    private var endCounts: [Behaviour: Int] = [:]
    private var disconnections = DisconnectionCounts()
    private var checkedAt: MonotonicTime?

    private enum Behaviour: Int, CaseIterable {
        case closing
        /// Resets the connection, as a lost network would.
        case reset
        /// Changes to another channel before it closes.
        case moving
        /// Pauses reading for one second out of two.
        case pausing
    }

    private struct Visit {
        var behaviour: Behaviour
        var channel: Int
        var client: BenchClient?
        /// The events it has received; nil before it is subscribed.
        var sequence: SequenceTracker?
        var leavesAt: MonotonicTime
        /// The visit ends when everything before this number has arrived.
        var expectedEnd: UInt32?
        /// When the visitor last paused or resumed reading.
        var toggledAt: MonotonicTime?
        var isPaused = false
        var isLeaving = false
    }

    /// The time that a visitor waits for outstanding events before it closes.
    private static let drainTimeMax = Duration.seconds(10)

    /// Creates a workload without visitors, which visit the residents' channels at a rate per second.
    init(name: String, of subscribers: Subscribers, rate: Double) {
        self.name = name
        self.subscribers = subscribers
        schedule = Schedule(.rate(rate))
        generator = subscribers.generator
        scanner = EventMarkerScanner(run: subscribers.run)
    }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        update(at: now, isDraining: false)
        let countMax = ConnectionRamp.pendingMax * 4
        return try schedule.sendDue(while: visits.count < countMax) { (_) throws(BenchError) in
            try connectNext(at: now)
        }
    }

    func drain(at now: MonotonicTime) -> Bool {
        schedule.pause()
        update(at: now, isDraining: true)
        return visits.isEmpty
    }

    private func connectNext(at now: MonotonicTime) throws(BenchError) {
        let index = startedCount
        startedCount += 1
        visits[index] = Visit(
            behaviour: Behaviour.allCases[index % Behaviour.allCases.count],
            channel: index % subscribers.channels.count,
            leavesAt: now.advanced(by: .milliseconds(.random(in: 500...8_000)))
        )
        visits[index]?.client = try generator.connect(index, self)
    }

    /// Ten times per second: ends visits that are over, and pauses or resumes reading.
    private func update(at now: MonotonicTime, isDraining: Bool) {
        if let checkedAt, checkedAt.duration(to: now) < BenchStep.tick { return }
        checkedAt = now
        for (index, visit) in visits where visit.sequence != nil && !visit.isLeaving {
            var visit = visit
            if visit.expectedEnd == nil, isDraining || visit.leavesAt <= now {
                beginLeaving(&visit, at: now)
            }
            if visit.behaviour == .pausing, visit.expectedEnd == nil {
                toggleReading(&visit, at: now)
            }
            visits[index] = visit
            if visit.expectedEnd != nil { leave(index, isLate: visit.leavesAt <= now) }
        }
    }

    private func beginLeaving(_ visit: inout Visit, at now: MonotonicTime) {
        visit.expectedEnd = subscribers.tracker.nextNumber(on: visit.channel)
        visit.leavesAt = now.advanced(by: Self.drainTimeMax)
        if visit.isPaused { visit.client?.resumeReading() }
        visit.isPaused = false
    }

    private func toggleReading(_ visit: inout Visit, at now: MonotonicTime) {
        if let last = visit.toggledAt, last.duration(to: now) < .seconds(1) { return }
        visit.toggledAt = now
        visit.isPaused.toggle()
        if visit.isPaused { visit.client?.pauseReading() } else { visit.client?.resumeReading() }
    }

    /// Closes a visitor that has received everything, or whose time is over.
    private func leave(_ index: Int, isLate: Bool) {
        guard var visit = visits[index], let client = visit.client,
            let expectedEnd = visit.expectedEnd
        else { return }
        let missing = visit.sequence?.missing(before: expectedEnd) ?? 0
        guard missing == 0 || isLate else { return }
        deliveryCounts.lost += missing
        if visit.behaviour == .moving, schedule.start != nil { return move(index, visit, client) }
        visit.isLeaving = true
        visits[index] = visit
        if visit.behaviour == .reset { client.reset() } else { client.close() }
    }

    private func move(_ index: Int, _ visit: Visit, _ client: BenchClient) {
        var visit = visit
        client.unsubscribe(from: subscribers.channels[visit.channel])
        visit.behaviour = .closing
        visit.channel = (visit.channel + 1) % subscribers.channels.count
        visit.sequence = nil
        visit.expectedEnd = nil
        visit.leavesAt = MonotonicTime.current.advanced(by: .seconds(2))
        visits[index] = visit
        endCounts[.moving, default: 0] += 1
        client.subscribe(to: subscribers.channels[visit.channel])
    }

    func clientConnected(_ client: BenchClient) {
        guard let visit = visits[client.index] else { return }
        client.subscribe(to: subscribers.channels[visit.channel])
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        guard let visit = visits[client.index] else { return }
        visits[client.index]?.sequence = SequenceTracker(
            from: subscribers.tracker.nextNumber(on: visit.channel),
            stride: UInt32(subscribers.tracker.channelCount)
        )
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let marker = scanner.find(in: text) else { return false }
        guard let visit = visits[client.index], !visit.isLeaving else { return true }
        guard Int(marker.sequence) % subscribers.tracker.channelCount == visit.channel else {
            deliveryCounts.misplaced += 1
            return true
        }
        if let arrival = visits[client.index]?.sequence?.receive(marker.sequence) {
            deliveryCounts.count(arrival)
        }
        return true
    }

    func clientClosed(_ client: BenchClient, isClean: Bool) {
        if let visit = visits.removeValue(forKey: client.index) {
            endCounts[visit.behaviour, default: 0] += 1
        }
    }

    func clientDisconnected(_ client: BenchClient, _ disconnection: Disconnection) -> Bool {
        visits[client.index] = nil
        disconnections.count(disconnection)
        return true
    }

    private func ended(_ behaviour: Behaviour) -> Int { endCounts[behaviour, default: 0] }

    var rows: [Row] {
        let label = jsonName(name)
        Row(
            label: name,
            text: """
                \(grouped(startedCount)): \(grouped(ended(.reset))) reset, \
                \(grouped(ended(.moving))) changed the channel, \
                \(grouped(ended(.pausing))) paused reading; \
                \(deliveryCounts.text)
                """,
            members: [
                ("\(label)_came", .integer(startedCount)),
                ("\(label)_reset", .integer(ended(.reset))),
                ("\(label)_moved", .integer(ended(.moving))),
                ("\(label)_sipped", .integer(ended(.pausing))),
            ] + deliveryCounts.members(label)
        )
        Row.disconnections("\(name) that the server closed", label, disconnections)
    }

    var fault: String? {
        let withoutCode = disconnections.ended + (disconnections.refused[-1] ?? 0)
        return counted(withoutCode, "of \(name) were disconnected without a code")
            ?? disconnections.fault ?? counted(visits.count, "of \(name) did not close")
    }
}
