import Net

/// The state of a presence channel's visitors, and a check that every observer is notified of each visit.
///
/// Each visitor joins and leaves repeatedly, each time as another user. Its joins and leaves are the even and odd
/// events of a channel of its own in a ``DeliveryTracker``; each observer is a subscriber of all these channels. So
/// each notice must reach each observer once and in order.
struct VisitTracker {
    private(set) var tracker: DeliveryTracker
    private(set) var startedCount = 0
    /// The number of visits whose end all observers were notified of.
    private(set) var endedCount = 0
    /// Notices to visitors, which are not checked.
    private(set) var unchecked = 0

    private let observerCount: Int
    private var visitors: [Visitor]

    private struct Visitor {
        var state = State.absent
        /// Observers that have not been notified of the last change.
        var pendingCount = 0
        /// When the last change was due, in nanoseconds.
        var dueAt: Int64 = 0
    }

    private enum State: Equatable {
        case absent
        /// The subscription is not acknowledged, or not all observers are notified.
        case joining(isConfirmed: Bool)
        /// The subscription is acknowledged, and all observers are notified.
        case present(since: MonotonicTime)
        case leaving
    }

    /// Creates a tracker without visits, of at least one observer and one visitor.
    init(observerCount: Int, visitorCount: Int) {
        self.observerCount = observerCount
        visitors = [Visitor](repeating: Visitor(), count: visitorCount)
        tracker = DeliveryTracker(
            subscriberCount: observerCount * visitorCount,
            channelCount: visitorCount
        )
    }

    var inProgressCount: Int { startedCount - endedCount }
    var absentVisitor: Int? { visitors.firstIndex { $0.state == .absent } }

    /// When a visitor's join was due, and when all observers had been notified of it; nil unless it is present.
    func presence(of visitor: Int) -> (due: MonotonicTime, since: MonotonicTime)? {
        guard case .present(let since) = visitors[visitor].state else { return nil }
        return (MonotonicTime(nanoseconds: visitors[visitor].dueAt), since)
    }

    /// Starts a visit of an absent visitor; returns the number of the join, for its marker.
    mutating func join(_ visitor: Int, due: MonotonicTime) -> UInt32 {
        precondition(visitors[visitor].state == .absent)
        startedCount += 1
        return change(visitor, to: .joining(isConfirmed: false), due: due)
    }

    /// Records the acknowledgement of a visitor's subscription.
    mutating func confirmJoin(_ visitor: Int, at now: MonotonicTime) {
        guard case .joining = visitors[visitor].state else { return }
        visitors[visitor].state = .joining(isConfirmed: true)
        advance(visitor, at: now)
    }

    mutating func leave(_ visitor: Int, due: MonotonicTime) {
        precondition(presence(of: visitor) != nil)
        _ = change(visitor, to: .leaving, due: due)
    }

    /// Counts a notice to an observer; returns when the change was due, in nanoseconds, if it is not a repeated one.
    mutating func receive(
        _ notice: PresenceNotice,
        by observer: Int,
        at now: MonotonicTime
    ) -> Int64? {
        let count = visitors.count
        // A number that was changed on the way is a fault that the tracker finds.
        let number = notice.marker.sequence &+ (notice.isJoin ? 0 : UInt32(count))
        let visitor = Int(number) % count
        guard tracker.receive(number, by: observer * count + visitor) else { return nil }
        visitors[visitor].pendingCount -= 1
        defer { advance(visitor, at: now) }
        return notice.isJoin ? notice.marker.sentAt : visitors[visitor].dueAt
    }

    /// Counts a notice to a visitor.
    ///
    /// It is work for the server, but a visitor is not always subscribed: it is not checked.
    mutating func receiveUnchecked() { unchecked += 1 }

    private mutating func change(_ visitor: Int, to state: State, due: MonotonicTime) -> UInt32 {
        visitors[visitor] = Visitor(
            state: state,
            pendingCount: observerCount,
            dueAt: due.nanoseconds
        )
        return tracker.send(on: visitor)
    }

    /// Changes a visitor's state when all observers have been notified.
    private mutating func advance(_ visitor: Int, at now: MonotonicTime) {
        guard visitors[visitor].pendingCount == 0 else { return }
        switch visitors[visitor].state {
        case .joining(isConfirmed: true): visitors[visitor].state = .present(since: now)
        case .leaving:
            visitors[visitor].state = .absent
            endedCount += 1
        case .absent, .present, .joining: break
        }
    }
}
