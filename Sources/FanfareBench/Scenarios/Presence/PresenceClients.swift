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
    private var visitors: [BenchClient] = []

    init(of channel: ChannelName, observers: Int, visitors: Int, _ generator: LoadGenerator) {
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
            missing: visits.presentCount,
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

/// A presence channel's notice of one of the benchmark's members.
struct PresenceNotice: Equatable {
    var isJoin: Bool
    /// The marker in the member's user ID; its sequence number is that of the join.
    var marker: EventMarker
}

/// Finds the `member_added` and `member_removed` notices of one run's members.
///
/// A member's user ID is an ``EventMarker``. All observers receive the same bytes, so that a notice is found by
/// comparing a few words.
struct PresenceNoticeScanner {
    private var joins: EventMarkerScanner
    private var leaves: EventMarkerScanner
    /// The offset of the last notice's event name, in bytes from the start of the message.
    private var offset = 0

    // A channel's name has no colon, and a quote inside a string has a backslash.
    private static let prefix = Array("\"pusher_internal:member_".utf8)

    init(run: UInt32) {
        joins = EventMarkerScanner(run: run)
        leaves = EventMarkerScanner(run: run)
    }

    mutating func find(in message: Span<UInt8>) -> PresenceNotice? {
        if !Self.hasPrefix(message, at: offset) {
            let end = message.count - Self.prefix.count
            guard end > 0, let start = (0..<end).first(where: { Self.hasPrefix(message, at: $0) })
            else { return nil }
            offset = start
        }
        switch message[offset + Self.prefix.count] {
        case UInt8(ascii: "a"):
            return joins.find(in: message).map { PresenceNotice(isJoin: true, marker: $0) }
        case UInt8(ascii: "r"):
            return leaves.find(in: message).map { PresenceNotice(isJoin: false, marker: $0) }
        default: return nil
        }
    }

    /// Whether the event name starts there, with at least one byte after the prefix.
    private static func hasPrefix(_ message: Span<UInt8>, at start: Int) -> Bool {
        guard start + prefix.count < message.count else { return false }
        for index in prefix.indices where message[start + index] != prefix[index] { return false }
        return true
    }
}
