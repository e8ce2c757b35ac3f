/// The queue of one endpoint.
///
/// The webhooks of one channel are sent in order: a failed one blocks later ones of its channel, and no others. A batch
/// is queued for each of its channels, and sent when it is the first of all of them.
struct Backlog: Sendable {
    /// The maximum number of webhooks.
    let countMax: Int
    /// The maximum length of their events, in bytes.
    let lengthMax: Int
    /// The maximum number of concurrent requests.
    let sendsMax: Int

    private struct Entry {
        var delivery: Delivery
        /// The number of channels in whose queue it is not the first.
        var blockers = 0
        var isSending = false
        /// Its entry in ``turns``, if any.
        var turn: Turn?
    }

    private struct Turn: Comparable {
        let due: Int64
        let id: Int64

        static func < (left: Turn, right: Turn) -> Bool {
            (left.due, left.id) < (right.due, right.id)
        }
    }

    private var entries: [Int64: Entry] = [:]
    /// The queue of each channel, in the order of arrival; never empty.
    private var lines: [String: [Int64]] = [:]
    /// The webhooks that are first in all their queues and not in flight, by due time.
    private var turns: [Turn] = []
    /// All webhooks in the order of arrival, some of them already removed.
    private var arrivals: [Int64] = []
    private var oldest = 0
    private var sends = 0
    private var length = 0
    /// The number of queued webhooks that no other queue keeps.
    private(set) var ownCount = 0

    /// Creates an empty queue.
    init(countMax: Int, lengthMax: Int, sendsMax: Int) {
        self.countMax = countMax
        self.lengthMax = lengthMax
        self.sendsMax = max(sendsMax, 1)
    }

    /// Whether the number of webhooks, and not their length, has reached its limit.
    var isFull: Bool { entries.count >= countMax }

    /// The number of queued webhooks, including those in flight.
    var count: Int { entries.count }

    /// The queued webhooks, including those in flight, in no particular order.
    var deliveries: [Delivery] { entries.values.map(\.delivery) }

    /// The time at which ``next(at:)`` returns a webhook, in milliseconds; `nil` if another event has to happen first.
    var nextDue: Int64? { sends < sendsMax ? turns.first?.due : nil }

    /// Whether the limit of concurrent requests delays a webhook: more are due at `now`, in milliseconds, than may be
    /// in flight.
    func isBusy(at now: Int64) -> Bool {
        sends + place(of: Turn(due: now, id: .max)) > sendsMax
    }

    /// Adds a webhook at a time in milliseconds, and returns the oldest webhooks, evicted by the limits; those in
    /// flight stay.
    mutating func append(_ delivery: Delivery, at now: Int64) -> [Delivery] {
        var entry = Entry(delivery: delivery)
        for channel in delivery.channels {
            if lines[channel] != nil { entry.blockers += 1 }
            lines[channel, default: []].append(delivery.id)
        }
        length += delivery.events.count
        arrivals.append(delivery.id)
        entries[delivery.id] = entry
        if delivery.origins.isEmpty { ownCount += 1 }
        if entry.blockers == 0 { insert(Turn(due: now, id: delivery.id)) }
        forgetGone()
        var pushedOut: [Delivery] = []
        while entries.count > countMax || length > lengthMax,
            let id = oldestWaiting(), id != delivery.id, let old = remove(id, at: now)
        {
            pushedOut.append(old)
        }
        return pushedOut
    }

    /// Returns the next webhook to send at a time in milliseconds, with its attempt counted; `nil` if none may be sent
    /// now.
    ///
    /// It is in flight from now on.
    mutating func next(at now: Int64) -> Delivery? {
        guard let due = nextDue, due <= now else { return nil }
        let id = turns.removeFirst().id
        entries[id]?.turn = nil
        entries[id]?.isSending = true
        entries[id]?.delivery.attempts += 1
        sends += 1
        return entries[id]?.delivery
    }

    /// Schedules another attempt of a webhook in flight at a time in milliseconds.
    mutating func postpone(_ id: Int64, until due: Int64) {
        guard entries[id]?.isSending == true else { return }
        entries[id]?.isSending = false
        sends -= 1
        insert(Turn(due: due, id: id))
    }

    /// Removes a webhook in any state, and returns it; `nil` if it is not in the queue.
    ///
    /// Later webhooks of its channels may be sent from `now` on, a time in milliseconds.
    @discardableResult
    mutating func remove(_ id: Int64, at now: Int64) -> Delivery? {
        guard let entry = entries.removeValue(forKey: id) else { return nil }
        length -= entry.delivery.events.count
        if entry.delivery.origins.isEmpty { ownCount -= 1 }
        if entry.isSending { sends -= 1 }
        if let turn = entry.turn { turns.remove(at: place(of: turn)) }
        for channel in entry.delivery.channels { leave(line: channel, id, at: now) }
        return entry.delivery
    }

    /// Removes the webhooks that are not in flight and that match, and returns them, oldest first.
    mutating func removeWaiting(
        where isRemoved: (Delivery) -> Bool = { _ in true }
    ) -> [Delivery] {
        arrivals[oldest...]
            .filter { id in
                guard let entry = entries[id], !entry.isSending else { return false }
                return isRemoved(entry.delivery)
            }
            .compactMap { remove($0, at: 0) }
    }

    private mutating func leave(line channel: String, _ id: Int64, at now: Int64) {
        guard let place = lines[channel]?.firstIndex(of: id) else { return }
        lines[channel]?.remove(at: place)
        guard place == 0 else { return }
        guard let first = lines[channel]?.first else {
            lines.removeValue(forKey: channel)
            return
        }
        entries[first]?.blockers -= 1
        if entries[first]?.blockers == 0 { insert(Turn(due: now, id: first)) }
    }

    private mutating func insert(_ turn: Turn) {
        entries[turn.id]?.turn = turn
        turns.insert(turn, at: place(of: turn))
    }

    /// The index of a turn, or its insertion point.
    private func place(of turn: Turn) -> Int {
        var (low, high) = (0, turns.count)
        while low < high {
            let middle = (low + high) / 2
            if turns[middle] < turn { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The oldest webhook that is not in flight; only a few are in flight.
    private func oldestWaiting() -> Int64? {
        arrivals[oldest...].first { entries[$0]?.isSending == false }
    }

    /// Compacts ``arrivals`` when at least half of its webhooks are removed.
    private mutating func forgetGone() {
        while oldest < arrivals.count, entries[arrivals[oldest]] == nil { oldest += 1 }
        guard arrivals.count > 2 * entries.count + 64 else { return }
        arrivals = arrivals[oldest...].filter { entries[$0] != nil }
        oldest = 0
    }
}
