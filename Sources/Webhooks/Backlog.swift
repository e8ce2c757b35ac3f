/// What waits for one endpoint, and which of it may go next.
///
/// The webhooks for one channel leave one after the other: one that fails holds back those behind it, and no others. A
/// batch stands in the line of each of its channels, and leaves when it is the first in all of them.
struct Backlog: Sendable {
    /// The webhooks that may wait.
    let countMax: Int
    /// The length of their events, in bytes.
    let lengthMax: Int
    /// The webhooks that may be under way at a time.
    let sendsMax: Int

    private struct Entry {
        var delivery: Delivery
        /// The channels in whose line it is not the first.
        var blockers = 0
        var isSending = false
        /// Its place in ``turns``, while it has one.
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
    /// By channel, in the order of arrival; no line is empty.
    private var lines: [String: [Int64]] = [:]
    /// What is first in all its lines and not under way, by time.
    private var turns: [Turn] = []
    /// All, in the order of arrival; some may be gone.
    private var arrivals: [Int64] = []
    private var oldest = 0
    private var sends = 0
    private var length = 0

    /// Begins with nothing.
    init(countMax: Int, lengthMax: Int, sendsMax: Int) {
        self.countMax = countMax
        self.lengthMax = lengthMax
        self.sendsMax = max(sendsMax, 1)
    }

    /// Whether the webhooks are too many, and not only too long.
    var isFull: Bool { entries.count >= countMax }

    /// The webhooks that wait or are under way.
    var count: Int { entries.count }

    /// The webhooks that wait or are under way, in no order.
    var deliveries: [Delivery] { entries.values.map(\.delivery) }

    /// When ``next(at:)`` will have something, in milliseconds; `nil` when something else has to happen first.
    var nextDue: Int64? { sends < sendsMax ? turns.first?.due : nil }

    /// Whether a webhook has to wait because as many as may be are under way, or about to leave.
    ///
    /// - Parameter now: The time, in milliseconds.
    /// - Returns: Whether more could be under way than may.
    func isBusy(at now: Int64) -> Bool {
        sends + place(of: Turn(due: now, id: .max)) > sendsMax
    }

    /// Adds a webhook behind all others.
    ///
    /// - Parameters:
    ///   - delivery: The webhook.
    ///   - now: The time, in milliseconds.
    /// - Returns: The oldest ones, which had to make room; what is under way stays.
    mutating func append(_ delivery: Delivery, at now: Int64) -> [Delivery] {
        var entry = Entry(delivery: delivery)
        for channel in delivery.channels {
            if lines[channel] != nil { entry.blockers += 1 }
            lines[channel, default: []].append(delivery.id)
        }
        length += delivery.events.count
        arrivals.append(delivery.id)
        entries[delivery.id] = entry
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

    /// Takes the next webhook to send; it is under way from now on.
    ///
    /// - Parameter now: The time, in milliseconds.
    /// - Returns: The webhook, its attempt counted; `nil` when none may be sent now.
    mutating func next(at now: Int64) -> Delivery? {
        guard let due = nextDue, due <= now else { return nil }
        let id = turns.removeFirst().id
        entries[id]?.turn = nil
        entries[id]?.isSending = true
        entries[id]?.delivery.attempts += 1
        sends += 1
        return entries[id]?.delivery
    }

    /// Lets a webhook that is under way wait for another attempt.
    ///
    /// - Parameters:
    ///   - id: Which one.
    ///   - due: When it may be sent again, in milliseconds.
    mutating func postpone(_ id: Int64, until due: Int64) {
        guard entries[id]?.isSending == true else { return }
        entries[id]?.isSending = false
        sends -= 1
        insert(Turn(due: due, id: id))
    }

    /// Removes a webhook, whatever has become of it.
    ///
    /// - Parameters:
    ///   - id: Which one.
    ///   - now: The time, in milliseconds, from which on those behind it may be sent.
    /// - Returns: The webhook, or `nil` when it is not here.
    @discardableResult
    mutating func remove(_ id: Int64, at now: Int64) -> Delivery? {
        guard let entry = entries.removeValue(forKey: id) else { return nil }
        length -= entry.delivery.events.count
        if entry.isSending { sends -= 1 }
        if let turn = entry.turn { turns.remove(at: place(of: turn)) }
        for channel in entry.delivery.channels { leave(line: channel, id, at: now) }
        return entry.delivery
    }

    /// Removes all that is not under way, oldest first.
    mutating func removeWaiting() -> [Delivery] {
        arrivals[oldest...].filter { entries[$0]?.isSending == false }
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

    /// Where a turn is, or belongs.
    private func place(of turn: Turn) -> Int {
        var (low, high) = (0, turns.count)
        while low < high {
            let middle = (low + high) / 2
            if turns[middle] < turn { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The oldest that is not under way; of those that are, there are few.
    private func oldestWaiting() -> Int64? {
        arrivals[oldest...].first { entries[$0]?.isSending == false }
    }

    /// Shortens ``arrivals``, when at least half of it is gone.
    private mutating func forgetGone() {
        while oldest < arrivals.count, entries[arrivals[oldest]] == nil { oldest += 1 }
        guard arrivals.count > 2 * entries.count + 64 else { return }
        arrivals = arrivals[oldest...].filter { entries[$0] != nil }
        oldest = 0
    }
}
