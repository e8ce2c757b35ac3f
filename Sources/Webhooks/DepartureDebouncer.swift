internal import Broker
internal import PusherProtocol

/// Debounces departures of members and subscribers.
///
/// A value without a clock. A departure waits for ``delay``. An arrival within the delay cancels it, and neither leads
/// to a webhook. The same holds for channels and for members of presence channels:
///
///     state      event        webhook
///     vacant     arrival      the arrival, at once
///     occupied   departure    none; the delay begins           → pending
///     pending    arrival      none; the departure is cancelled → occupied
///     pending    delay over   the departure                    → vacant
///
/// Only pending departures take memory, because the channel's home knows the states. The departures of one channel are
/// sent in the order of their reports, and the channel's own last.
struct DepartureDebouncer: Sendable {
    /// The delay of a departure, in milliseconds.
    let delay: Int64
    /// The maximum number of pending departures; above it the oldest are sent at once.
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

    /// The number of each subject's departure; an entry of ``departures`` with another number is cancelled.
    private var pending: [Subject: Int] = [:]
    /// In the order of their numbers, which is that of their times, because all have the same delay.
    private var departures: [Departure] = []
    /// The index of the first unprocessed departure.
    private var first = 0
    private var lastNumber = 0

    /// Creates a debouncer without pending departures; the delay is in milliseconds.
    init(delay: Int64, countMax: Int) {
        self.delay = delay
        self.countMax = countMax
    }

    /// The number of pending departures.
    var count: Int { pending.count }

    /// Processes a report whose time is not before that of earlier reports, and returns whether to send it now.
    mutating func process(_ report: Report) -> Bool {
        let address = report.address
        switch report.event {
        case .vacated:
            depart(Subject(address: address, user: nil), at: report.uptime)
            return false
        case .memberRemoved(let userID):
            depart(Subject(address: address, user: userID), at: report.uptime)
            // The channel's departure follows those of its members, whatever the order of the reports.
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

    /// The time of the next pending departure, in milliseconds; `nil` if there is none.
    mutating func nextDue() -> Int64? {
        skipCancelled()
        guard first < departures.count else { return nil }
        return pending.count > countMax ? .min : departures[first].due
    }

    /// Removes and returns the departures due at a time in milliseconds, in the order in which to send them.
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
        // A repeated departure, without an arrival between the two.
        guard pending[subject] == nil else { return }
        lastNumber += 1
        pending[subject] = lastNumber
        departures.append(Departure(subject: subject, number: lastNumber, due: now + delay))
        if departures.count > 2 * pending.count + 64 { compact() }
    }

    private mutating func skipCancelled() {
        while first < departures.count,
            pending[departures[first].subject] != departures[first].number
        {
            first += 1
        }
        if first == departures.count, first > 0 { compact() }
    }

    /// Removes processed and cancelled entries, when they are at least half: amortized constant time.
    private mutating func compact() {
        departures = departures[first...].filter { pending[$0.subject] == $0.number }
        first = 0
    }
}
