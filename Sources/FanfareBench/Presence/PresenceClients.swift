import Histogram
import Net
import PusherProtocol

/// The observers and the visitors of a presence channel.
///
/// The devices with the first indices are the observers.
final class PresenceCrowd: Crowd {
    /// Who is in: observers with their subscription, visitors with their connection.
    private(set) var admission: Admission
    /// Who has come and gone, and who has seen it.
    private(set) var visits: Visits
    /// Nanoseconds from when a join was due until each observer saw it.
    private(set) var joins = Histogram<UInt64>.latencies
    /// Nanoseconds from when a leave was due until each observer saw it.
    private(set) var leaves = Histogram<UInt64>.latencies
    /// When the last notice arrived.
    private(set) var lastNoticeAt: MonotonicTime?
    /// The first thing that went wrong.
    private(set) var failure: BenchError?

    private let plan: PresencePlan
    private let generator: Generator
    private let run: UInt32
    private var scanner: NoticeScanner
    /// Each visitor's connection, once the server has greeted it.
    private var visitors: [(device: Device, socketID: SocketID)] = []

    /// A crowd that nobody belongs to yet.
    ///
    /// - Parameters:
    ///   - plan: Says how many they are.
    ///   - generator: Makes the connections.
    init(plan: PresencePlan, generator: Generator) {
        self.plan = plan
        self.generator = generator
        admission = Admission(count: plan.observerCount + plan.visitorCount)
        visits = Visits(observerCount: plan.observerCount, visitorCount: plan.visitorCount)
        run = .random(in: 0..<1 << 24)
        scanner = NoticeScanner(run: run)
    }

    /// Lets more of them in, and shows how many are.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all are in.
    /// - Throws: Why there can be no connection, or that none has been let in for too long.
    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.assemble(self, &admission, at: now)
    }

    /// Lets a visitor join.
    ///
    /// - Parameters:
    ///   - visitor: One that is away.
    ///   - due: When it was to join.
    func invite(_ visitor: Int, due: MonotonicTime) {
        let number = visits.join(visitor, due: due)
        let marker = Marker(run: run, sequence: number, sentAt: due.nanoseconds)
        let userID = String(decoding: marker.data(length: Marker.length), as: UTF8.self)
        let (device, socketID) = visitors[visitor]
        device.subscribe(
            generator.subject.subscription(to: plan.channel, of: socketID, as: userID)
        )
    }

    /// Lets all visitors leave whose time has come.
    ///
    /// - Parameter stay: How long after its joining was due a visitor leaves, at the earliest: it
    ///   never leaves before every observer has seen it, and what that took is no part of the
    ///   latency of its leaving.
    /// - Returns: When the next one leaves; nil if none is there.
    func sendAway(after stay: Duration) -> MonotonicTime? {
        var next: MonotonicTime?
        for visitor in visitors.indices {
            guard let (joinDue, since) = visits.presence(of: visitor) else { continue }
            let due = max(joinDue.advanced(by: stay), since)
            if due <= .current {
                visits.leave(visitor, due: due)
                visitors[visitor].device.unsubscribe(from: plan.channel)
            } else {
                next = min(due, next ?? due)
            }
        }
        return next
    }

    // MARK: Crowd

    func greeted(_ device: Device, as socketID: SocketID) {
        if device.index < plan.observerCount {
            let userID = "observer"
            device.subscribe(
                generator.subject.subscription(to: plan.channel, of: socketID, as: userID)
            )
        } else {
            visitors.append((device, socketID))
            admission.admit(device)
        }
    }

    func acknowledged(_ device: Device, at now: MonotonicTime) {
        if device.index < plan.observerCount {
            admission.admit(device)
        } else if let visitor = visitors.firstIndex(where: { $0.device === device }) {
            visits.acknowledge(visitor, at: now)
        }
    }

    func heard(_ text: Span<UInt8>, by device: Device, at now: MonotonicTime) -> Bool {
        guard let notice = scanner.find(in: text) else { return false }
        guard device.index < plan.observerCount else {
            visits.receiveUnchecked()
            return true
        }
        guard let due = visits.receive(notice, by: device.index, at: now) else { return true }
        if notice.isJoin {
            joins.record(from: due, to: now)
        } else {
            leaves.record(from: due, to: now)
        }
        lastNoticeAt = now
        return true
    }

    func failed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
