import Histogram
import Net
import PusherProtocol

/// The observers and visitors of a presence channel.
///
/// The clients with the lowest indices are the observers.
final class PresenceClients: BenchClientDelegate {
    /// Counts the ready connections: subscribed observers, connected visitors.
    private(set) var ramp: ConnectionRamp
    /// Checks the notices of the visits.
    private(set) var visits: VisitTracker
    /// Nanoseconds from when a join was due until each observer was notified.
    private(set) var joins = Histogram<UInt64>.latencies
    /// Nanoseconds from when a leave was due until each observer was notified.
    private(set) var leaves = Histogram<UInt64>.latencies
    /// When the last notice arrived.
    private(set) var lastNoticeAt: MonotonicTime?
    /// The first error.
    private(set) var failure: BenchError?

    private let plan: PresencePlan
    private let generator: LoadGenerator
    private let run: UInt32
    private var scanner: PresenceNoticeScanner
    /// Each visitor's connection, once it has a socket ID.
    private var visitors: [(client: BenchClient, socketID: SocketID)] = []

    /// Creates the clients, without connections.
    ///
    /// - Parameters:
    ///   - plan: The number of clients and the channel.
    ///   - generator: Opens the connections.
    init(plan: PresencePlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        ramp = ConnectionRamp(count: plan.observerCount + plan.visitorCount)
        visits = VisitTracker(observerCount: plan.observerCount, visitorCount: plan.visitorCount)
        run = .random(in: 0..<1 << 24)
        scanner = PresenceNoticeScanner(run: run)
    }

    /// Opens more connections and shows the progress.
    ///
    /// - Returns: Whether all connections are ready.
    /// - Returns: Whether all are in.
    /// - Throws: When a connection cannot be opened, or none was acknowledged within the stall timeout.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.connectClients(of: self, &ramp, at: now)
    }

    /// Subscribes a visitor.
    ///
    /// - Parameters:
    ///   - visitor: The index of an absent visitor.
    ///   - due: When the visit was due.
    func startVisit(of visitor: Int, due: MonotonicTime) {
        let number = visits.join(visitor, due: due)
        let marker = EventMarker(run: run, sequence: number, sentAt: due.nanoseconds)
        let userID = String(decoding: marker.data(length: EventMarker.length), as: UTF8.self)
        let (client, socketID) = visitors[visitor]
        client.subscribe(
            generator.target.subscription(to: plan.channel, of: socketID, as: userID)
        )
    }

    /// Unsubscribes all visitors whose visit is over.
    ///
    /// - Parameter stay: The minimum duration of a visit, counted from when it was due. A visitor leaves only when all
    ///   observers have been notified of it; that time is not part of the latency of the leave.
    /// - Returns: When the next visit ends; nil if there is none.
    func endVisits(after stay: Duration) -> MonotonicTime? {
        var next: MonotonicTime?
        for visitor in visitors.indices {
            guard let (joinDue, since) = visits.presence(of: visitor) else { continue }
            let due = max(joinDue.advanced(by: stay), since)
            if due <= .current {
                visits.leave(visitor, due: due)
                visitors[visitor].client.unsubscribe(from: plan.channel)
            } else {
                next = min(due, next ?? due)
            }
        }
        return next
    }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient, as socketID: SocketID) {
        if client.index < plan.observerCount {
            let userID = "observer"
            client.subscribe(
                generator.target.subscription(to: plan.channel, of: socketID, as: userID)
            )
        } else {
            visitors.append((client, socketID))
            ramp.markConnected(client)
        }
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        if client.index < plan.observerCount {
            ramp.markConnected(client)
        } else if let visitor = visitors.firstIndex(where: { $0.client === client }) {
            visits.confirmJoin(visitor, at: now)
        }
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let notice = scanner.find(in: text) else { return false }
        guard client.index < plan.observerCount else {
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

    func clientFailed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
