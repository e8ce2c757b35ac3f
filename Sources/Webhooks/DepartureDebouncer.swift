internal import Broker
internal import PusherProtocol

/// Who has left a moment ago and may be back before anybody is told.
///
/// A value without a clock. A departure waits for ``delay``; an arrival within it takes it back, and then neither is
/// told, for channels and for the members of presence channels alike:
///
///     state      event        what is told
///     vacant     arrival      the arrival, at once
///     occupied   departure    nothing; the delay begins           → pending
///     pending    arrival      nothing; the departure is forgotten → occupied
///     pending    delay over   the departure                       → vacant
///
/// Only what is pending takes memory: that a channel is occupied or vacant its home knows. Of one channel, departures
/// are told in the order in which they were reported, and the channel's own last.
struct DepartureDebouncer: Sendable {
    /// How long a departure waits, in milliseconds.
    let delay: Int64
    /// The departures that may wait; beyond it the one that has waited longest is told at once.
    let countMax: Int

    /// A channel, or one user on it.
    private struct Subject: Hashable {
        let address: ChannelAddress
        let user: UserID?
    }

    private struct Departure {
        let subject: Subject
        let number: Int
        let due: Int64
    }

    /// The number of each subject's departure; an entry of ``departures`` with another number has been taken back.
    private var pending: [Subject: Int] = [:]
    /// In the order of their numbers and, since the delay is the same for all, of their time.
    private var departures: [Departure] = []
    /// Where the first departure is that has not been looked at.
    private var first = 0
    private var lastNumber = 0

    /// Begins with nobody away.
    ///
    /// - Parameters:
    ///   - delay: How long a departure waits, in milliseconds.
    ///   - countMax: The departures that may wait.
    init(delay: Int64, countMax: Int) {
        self.delay = delay
        self.countMax = countMax
    }

    /// The departures that wait.
    var count: Int { pending.count }

    /// Takes in a report.
    ///
    /// - Parameter report: What happened; its time is not before that of earlier reports.
    /// - Returns: Whether it is to be told now.
    mutating func admit(_ report: Report) -> Bool {
        let address = report.address
        switch report.event {
        case .vacated:
            depart(Subject(address: address, user: nil), at: report.uptime)
            return false
        case .memberRemoved(let userID):
            depart(Subject(address: address, user: userID), at: report.uptime)
            // However they were reported, the channel is told of behind its members.
            let channel = Subject(address: address, user: nil)
            if pending.removeValue(forKey: channel) != nil { depart(channel, at: report.uptime) }
            return false
        case .occupied:
            return pending.removeValue(forKey: Subject(address: address, user: nil)) == nil
        case .memberAdded(let userID):
            return pending.removeValue(forKey: Subject(address: address, user: userID)) == nil
        default: return true
        }
    }

    /// When the next departure is to be told, in milliseconds; `nil` when none waits.
    mutating func nextDue() -> Int64? {
        skipTakenBack()
        guard first < departures.count else { return nil }
        return pending.count > countMax ? .min : departures[first].due
    }

    /// Takes the departures that are to be told.
    ///
    /// - Parameter now: The time, in milliseconds.
    /// - Returns: Them, in the order in which they are told.
    mutating func takeDue(at now: Int64) -> [Report] {
        var reports: [Report] = []
        while let due = nextDue(), due <= now {
            let departure = departures[first]
            pending.removeValue(forKey: departure.subject)
            let event: ChannelEvent =
                if let user = departure.subject.user { .memberRemoved(user) } else { .vacated }
            reports.append(Report(address: departure.subject.address, event: event, uptime: now))
        }
        return reports
    }

    private mutating func depart(_ subject: Subject, at now: Int64) {
        // A second departure without an arrival between them says nothing new.
        guard pending[subject] == nil else { return }
        lastNumber += 1
        pending[subject] = lastNumber
        departures.append(Departure(subject: subject, number: lastNumber, due: now + delay))
        if departures.count > 2 * pending.count + 64 { compact() }
    }

    private mutating func skipTakenBack() {
        while first < departures.count,
            pending[departures[first].subject] != departures[first].number
        {
            first += 1
        }
        if first == departures.count, first > 0 { compact() }
    }

    /// Forgets what was told or taken back; done when that is at least half, so that each costs the same.
    private mutating func compact() {
        departures = departures[first...].filter { pending[$0.subject] == $0.number }
        first = 0
    }
}
