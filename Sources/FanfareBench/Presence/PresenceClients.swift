import Histogram
import Net
import PusherProtocol

/// The observers and visitors of a presence channel.
///
/// The clients with the lowest indices are the observers.
final class PresenceClients: RampedClients {
    /// Counts the ready connections: subscribed observers, connected visitors.
    var ramp: ConnectionRamp
    private(set) var visits: VisitTracker
    /// Nanoseconds from when a join was due until each observer was notified.
    private(set) var joins = Histogram<UInt64>.latencies
    /// Nanoseconds from when a leave was due until each observer was notified.
    private(set) var leaves = Histogram<UInt64>.latencies
    private(set) var lastNoticeAt: MonotonicTime?
    let generator: LoadGenerator

    private let channel: ChannelName
    private let observerCount: Int
    private let run = UInt32.random(in: 0..<1 << 24)
    private var scanner: PresenceNoticeScanner
    /// The visitors that have a socket ID.
    private var visitors: [BenchClient] = []

    init(of channel: ChannelName, observers: Int, visitors: Int, generator: LoadGenerator) {
        self.channel = channel
        observerCount = observers
        self.generator = generator
        ramp = ConnectionRamp(count: observers + visitors)
        visits = VisitTracker(observerCount: observers, visitorCount: visitors)
        scanner = PresenceNoticeScanner(run: run)
    }

    /// Starts all visits of a schedule that are due, and ends those that are over; returns when the next change is due.
    ///
    /// A visit lasts at least `stay`, counted from when it was due.
    func step(_ schedule: Schedule, stay: Duration) -> MonotonicTime? {
        let nextLeave = endVisits(after: stay)
        let nextJoin = schedule.sendDue(
            missing: visits.inProgressCount,
            while: visits.absentVisitor != nil
        ) { due in
            guard let visitor = visits.absentVisitor else { return }
            let number = visits.join(visitor, due: due)
            let marker = EventMarker(run: run, sequence: number, sentAt: due.nanoseconds)
            visitors[visitor].subscribe(to: channel, as: marker.text)
        }
        return earlier(nextLeave, nextJoin)
    }

    /// Unsubscribes all visitors whose visit is over; returns when the next one ends.
    ///
    /// A visitor leaves only when all observers have been notified of it; that time is not part of the latency of the
    /// leave.
    func endVisits(after stay: Duration) -> MonotonicTime? {
        var next: MonotonicTime?
        for visitor in visitors.indices {
            guard let (joinDue, since) = visits.presence(of: visitor) else { continue }
            let due = max(joinDue.advanced(by: stay), since)
            if due <= .current {
                visits.leave(visitor, due: due)
                visitors[visitor].unsubscribe(from: channel)
            } else {
                next = min(due, next ?? due)
            }
        }
        return next
    }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient) {
        if client.index < observerCount {
            client.subscribe(to: channel, as: "observer")
        } else {
            visitors.append(client)
            ramp.markConnected(client)
        }
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        if client.index < observerCount {
            ramp.markConnected(client)
        } else if let visitor = visitors.firstIndex(where: { $0 === client }) {
            visits.confirmJoin(visitor, at: now)
        }
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let notice = scanner.find(in: text) else { return false }
        guard client.index < observerCount else {
            visits.receiveUnchecked()
            return true
        }
        guard let due = visits.receive(notice, by: client.index, at: now) else { return true }
        if notice.isJoin {
            joins.record(from: due, to: now)
        } else {
            leaves.record(from: due, to: now)
        }
        lastNoticeAt = now
        return true
    }
}
