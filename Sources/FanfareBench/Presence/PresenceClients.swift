import Histogram
import Net
import PusherProtocol

/// The observers and the visitors of a presence channel.
///
/// The clients with the first indices are the observers.
final class PresenceClients: BenchClientDelegate {
    /// Who is in: observers with their subscription, visitors with their connection.
    private(set) var ramp: ConnectionRamp
    /// Who has come and gone, and who has seen it.
    private(set) var visits: VisitTracker
    /// Nanoseconds from when a join was due until each observer saw it.
    private(set) var joins = Histogram<UInt64>.latencies
    /// Nanoseconds from when a leave was due until each observer saw it.
    private(set) var leaves = Histogram<UInt64>.latencies
    /// When the last notice arrived.
    private(set) var lastNoticeAt: MonotonicTime?
    /// The first thing that went wrong.
    private(set) var failure: BenchError?

    private let plan: PresencePlan
    private let generator: LoadGenerator
    private let run: UInt32
    private var scanner: PresenceNoticeScanner
    /// Each visitor's connection, once the server has greeted it.
    private var visitors: [(client: BenchClient, socketID: SocketID)] = []

    /// A clients that nobody belongs to yet.
    ///
    /// - Parameters:
    ///   - plan: Says how many they are.
    ///   - generator: Makes the connections.
    init(plan: PresencePlan, generator: LoadGenerator) {
        self.plan = plan
        self.generator = generator
        ramp = ConnectionRamp(count: plan.observerCount + plan.visitorCount)
        visits = VisitTracker(observerCount: plan.observerCount, visitorCount: plan.visitorCount)
        run = .random(in: 0..<1 << 24)
        scanner = PresenceNoticeScanner(run: run)
    }

    /// Lets more of them in, and shows how many are.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all are in.
    /// - Throws: Why there can be no connection, or that none has been let in for too long.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.connectClients(of: self, &ramp, at: now)
    }

    /// Lets a visitor join.
    ///
    /// - Parameters:
    ///   - visitor: One that is away.
    ///   - due: When it was to join.
    func startVisit(of visitor: Int, due: MonotonicTime) {
        let number = visits.join(visitor, due: due)
        let marker = EventMarker(run: run, sequence: number, sentAt: due.nanoseconds)
        let userID = String(decoding: marker.data(length: EventMarker.length), as: UTF8.self)
        let (client, socketID) = visitors[visitor]
        client.subscribe(
            generator.target.subscription(to: plan.channel, of: socketID, as: userID)
        )
    }

    /// Lets all visitors leave whose time has come.
    ///
    /// - Parameter stay: How long after its joining was due a visitor leaves, at the earliest: it
    ///   never leaves before every observer has seen it, and what that took is no part of the
    ///   latency of its leaving.
    /// - Returns: When the next one leaves; nil if none is there.
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
