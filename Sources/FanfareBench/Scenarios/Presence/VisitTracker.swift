import Net

/// The state of a presence channel's visitors, and a check that every observer is notified of each visit.
///
/// Each visitor joins and leaves repeatedly, each time as another user. Its joins are the events of one channel in a
/// ``DeliveryTracker``, and its leaves those of another; each observer is a subscriber of all these channels. So each
/// notice must reach each observer once, joins in order and leaves in order. A visitor may join again before the
/// broker announces that it has left, which takes the app's `presence_grace`.
struct VisitTracker {
    private(set) var tracker: DeliveryTracker
    private(set) var startedCount = 0
    /// The number of visits whose end all observers were notified of.
    private(set) var endedCount = 0
    /// Notices to visitors, which are not checked.
    private(set) var unchecked = 0

    private let observerCount: Int
    private var visitors: [Visitor]
    /// The leaves that not all observers were notified of, by number.
    private var leaves: [UInt32: Change] = [:]

    private struct Visitor {
        var state = State.absent
        /// The last join.
        var join = Change()
    }

    private struct Change {
        /// Observers that have not been notified.
        var pendingCount = 0
        /// When it was due, in nanoseconds.
        var dueAt: Int64 = 0
    }

    private enum State: Equatable {
        case absent
        /// The subscription is not acknowledged, or not all observers are notified.
        case joining(isConfirmed: Bool)
        /// The subscription is acknowledged, and all observers are notified.
        case present(since: MonotonicTime)
    }

    /// Creates a tracker without visits, of at least one observer and one visitor.
    init(observerCount: Int, visitorCount: Int) {
        self.observerCount = observerCount
        visitors = [Visitor](repeating: Visitor(), count: visitorCount)
        tracker = DeliveryTracker(
            subscriberCount: observerCount * visitorCount * 2,
            channelCount: visitorCount * 2
        )
    }

    /// The number of visits that not all observers were notified of, or that have not ended.
    var inProgressCount: Int { startedCount - endedCount }
    /// The number of visitors that have not left.
    var presentCount: Int { visitors.count { $0.state != .absent } }
    var absentVisitor: Int? { visitors.firstIndex { $0.state == .absent } }

    /// When a visitor's join was due, and when all observers had been notified of it; nil unless it is present.
    func presence(of visitor: Int) -> (due: MonotonicTime, since: MonotonicTime)? {
        guard case .present(let since) = visitors[visitor].state else { return nil }
        return (MonotonicTime(nanoseconds: visitors[visitor].join.dueAt), since)
    }

    /// Starts a visit of an absent visitor; returns the number of the join, for its marker.
    mutating func join(_ visitor: Int, due: MonotonicTime) -> UInt32 {
        precondition(visitors[visitor].state == .absent)
        startedCount += 1
        visitors[visitor] = Visitor(state: .joining(isConfirmed: false), join: change(due: due))
        return tracker.send(on: visitor)
    }

    /// Records the acknowledgement of a visitor's subscription.
    mutating func confirmJoin(_ visitor: Int, at now: MonotonicTime) {
        guard case .joining = visitors[visitor].state else { return }
        visitors[visitor].state = .joining(isConfirmed: true)
        advance(visitor, at: now)
    }

    mutating func leave(_ visitor: Int, due: MonotonicTime) {
        precondition(presence(of: visitor) != nil)
        visitors[visitor].state = .absent
        leaves[tracker.send(on: visitors.count + visitor)] = change(due: due)
    }

    /// Counts a notice to an observer; returns when the change was due, in nanoseconds, if it is not a repeated one.
    mutating func receive(
        _ notice: PresenceNotice,
        by observer: Int,
        at now: MonotonicTime
    ) -> Int64? {
        let channelCount = tracker.channelCount
        // A number that was changed on the way is a fault that the tracker finds.
        let number = notice.marker.sequence &+ (notice.isJoin ? 0 : UInt32(visitors.count))
        let channel = Int(number) % channelCount
        guard tracker.receive(number, by: observer * channelCount + channel) else { return nil }
        guard !notice.isJoin else {
            visitors[channel].join.pendingCount -= 1
            advance(channel, at: now)
            return notice.marker.sentAt
        }
        guard let leave = leaves[number] else { return nil }
        leaves[number]?.pendingCount -= 1
        if leave.pendingCount == 1 {
            leaves[number] = nil
            endedCount += 1
        }
        return leave.dueAt
    }

    /// Counts a notice to a visitor.
    ///
    /// It is work for the server, but a visitor is not always subscribed: it is not checked.
    mutating func receiveUnchecked() { unchecked += 1 }

    private func change(due: MonotonicTime) -> Change {
        Change(pendingCount: observerCount, dueAt: due.nanoseconds)
    }

    /// Makes a visitor present when its subscription is acknowledged, and all observers have been notified of it.
    private mutating func advance(_ visitor: Int, at now: MonotonicTime) {
        guard visitors[visitor].join.pendingCount == 0,
            visitors[visitor].state == .joining(isConfirmed: true)
        else { return }
        visitors[visitor].state = .present(since: now)
    }
}
