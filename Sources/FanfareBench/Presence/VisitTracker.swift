import Net

/// Who of a presence channel's visitors is where, and whether every observer saw it.
///
/// Each visitor joins and leaves again and again, each time as another user. Its joins and leaves
/// are the even and the odd events of a channel of its own in a ``DeliveryTracker``, and each observer is a
/// subscriber of each of these: so each notice must reach each observer once and in order.
struct VisitTracker {
    /// What was done, and what of it the observers saw.
    private(set) var tracker: DeliveryTracker
    /// How many visits have begun.
    private(set) var startedCount = 0
    /// How many visits everybody has seen the end of.
    private(set) var endedCount = 0
    /// Arrivals that a visitor was told of, which are not checked.
    private(set) var unchecked = 0

    private let observerCount: Int
    private var visitors: [Visitor]

    private struct Visitor {
        var state = State.absent
        /// Observers that have not seen the last change.
        var pendingCount = 0
        /// When the last change was due, in nanoseconds.
        var dueAt: Int64 = 0
    }

    private enum State: Equatable {
        case absent
        /// Its subscription is not acknowledged, or not seen by all.
        case joining(isConfirmed: Bool)
        /// Acknowledged, and seen by everybody.
        case present(since: MonotonicTime)
        case leaving
    }

    /// Nobody has come.
    ///
    /// - Parameters:
    ///   - observerCount: How many see it, at least 1.
    ///   - visitorCount: How many come and go, at least 1.
    init(observerCount: Int, visitorCount: Int) {
        self.observerCount = observerCount
        visitors = [Visitor](repeating: Visitor(), count: visitorCount)
        tracker = DeliveryTracker(
            subscriberCount: observerCount * visitorCount,
            channelCount: visitorCount
        )
    }

    /// How many visits are under way.
    var inProgressCount: Int { startedCount - endedCount }

    /// A visitor that may come; nil if there is none.
    var absentVisitor: Int? { visitors.firstIndex { $0.state == .absent } }

    /// A visitor that is there: when it was to join, and since when everybody has seen it.
    ///
    /// - Parameter visitor: Its index.
    /// - Returns: nil if it is away, or on its way in or out.
    func presence(of visitor: Int) -> (due: MonotonicTime, since: MonotonicTime)? {
        guard case .present(let since) = visitors[visitor].state else { return nil }
        return (MonotonicTime(nanoseconds: visitors[visitor].dueAt), since)
    }

    /// Begins a visit.
    ///
    /// - Parameters:
    ///   - visitor: One that is away.
    ///   - due: When it was to begin.
    /// - Returns: The number of the join, for the marker.
    mutating func join(_ visitor: Int, due: MonotonicTime) -> UInt32 {
        precondition(visitors[visitor].state == .absent)
        startedCount += 1
        return change(visitor, to: .joining(isConfirmed: false), due: due)
    }

    /// Notes that the server has acknowledged a visitor's subscription.
    mutating func confirmJoin(_ visitor: Int, at now: MonotonicTime) {
        guard case .joining = visitors[visitor].state else { return }
        visitors[visitor].state = .joining(isConfirmed: true)
        advance(visitor, at: now)
    }

    /// Ends a visit.
    ///
    /// - Parameters:
    ///   - visitor: One that is present.
    ///   - due: When it was to end.
    mutating func leave(_ visitor: Int, due: MonotonicTime) {
        precondition(presence(of: visitor) != nil)
        _ = change(visitor, to: .leaving, due: due)
    }

    /// Counts what an observer was told.
    ///
    /// - Parameters:
    ///   - notice: The notice.
    ///   - observer: The observer's index.
    ///   - now: The time.
    /// - Returns: When the change was due, in nanoseconds, if the observer sees it for the first time.
    mutating func receive(
        _ notice: PresenceNotice,
        by observer: Int,
        at now: MonotonicTime
    ) -> Int64? {
        let count = visitors.count
        // Whoever sends another number back than it was sent is found out by the tracker.
        let number = notice.marker.sequence &+ (notice.isJoin ? 0 : UInt32(count))
        let visitor = Int(number) % count
        guard tracker.receive(number, by: observer * count + visitor) else { return nil }
        visitors[visitor].pendingCount -= 1
        defer { advance(visitor, at: now) }
        return notice.isJoin ? notice.marker.sentAt : visitors[visitor].dueAt
    }

    /// Counts what a visitor was told: the server's work, but it comes and goes, so it is not checked.
    mutating func receiveUnchecked() { unchecked += 1 }

    private mutating func change(_ visitor: Int, to state: State, due: MonotonicTime) -> UInt32 {
        visitors[visitor] = Visitor(
            state: state,
            pendingCount: observerCount,
            dueAt: due.nanoseconds
        )
        return tracker.send(on: visitor)
    }

    /// Goes on when everybody has seen the last change.
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
