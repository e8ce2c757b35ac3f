/// Identifies a scheduled timer; without effect once it has fired or was cancelled.
public struct TimerID: Hashable, Sendable {
    let index: UInt32
    /// Entries are reused: an old ID must not cancel a new timer.
    let generation: UInt32
}

/// Timers hashed by deadline into a hierarchical wheel (Varghese and Lauck, 1987, scheme 7).
///
/// Six levels of 64 slots. A slot of level *n* spans 64ⁿ ticks, so the wheel reaches 2³⁶ ticks: two years of
/// milliseconds. A timer's level and slot follow from the highest six bits in which its deadline differs from the
/// current tick. The timer moves down a level each time the current tick reaches its slot, at most five times. A timer
/// whose deadline is out of reach waits in the last slot of the uppermost level, and is placed again when that slot is
/// reached.
///
/// One word per level marks the occupied slots, so the next deadline is found without a search. The entries are in one
/// array and are reused, so a million timers that start and end allocate nothing.
struct TimerWheel<Payload> {
    private static var none: Int32 { -1 }
    private static var levelCount: Int { 6 }
    /// The number of tick bits below those that select a slot of the uppermost level.
    private static var topShift: UInt64 { 30 }
    /// The list after all slots, of timers that are due.
    private static var due: Int { levelCount * 64 }

    private struct Entry {
        var payload: Payload?
        var deadline: UInt64
        var next: Int32
        var previous: Int32
        var list: Int32
        var generation: UInt32
    }

    private var entries: [Entry] = []
    private var firstFree = none
    /// The first entry of each slot's list, and of the due list.
    private var heads = [Int32](repeating: none, count: due + 1)
    private var taken: [6 of UInt64] = .init(repeating: 0)
    /// The tick up to which all timers have been made due.
    private var now: UInt64
    /// The number of scheduled timers.
    private(set) var count = 0

    /// Makes an empty wheel at the tick `now`.
    init(now: UInt64 = 0) { self.now = now }

    /// The next tick with a deadline or a slot to spread; nil without timers.
    ///
    /// Never later than the earliest deadline.
    var nextTick: UInt64? {
        if heads[Self.due] != Self.none { return now }
        return nextSlot?.tick
    }

    /// Schedules a timer.
    ///
    /// - Parameters:
    ///   - deadline: The tick at which it is due; a past one counts as the next tick.
    ///   - payload: The value that ``takeDue(at:)`` returns.
    /// - Returns: The timer's ID, for ``cancel(_:)``.
    mutating func schedule(at deadline: UInt64, _ payload: Payload) -> TimerID {
        // The next tick at the earliest: a timer that reschedules itself must not keep this tick from ending.
        let deadline = max(deadline, now + 1)
        let index: Int32
        if firstFree == Self.none {
            index = Int32(entries.count)
            entries.append(
                Entry(
                    payload: payload,
                    deadline: deadline,
                    next: Self.none,
                    previous: Self.none,
                    list: 0,
                    generation: 0
                )
            )
        } else {
            index = firstFree
            firstFree = entries[Int(index)].next
            entries[Int(index)].payload = payload
            entries[Int(index)].deadline = deadline
        }
        place(index)
        count += 1
        return TimerID(index: UInt32(index), generation: entries[Int(index)].generation)
    }

    /// Cancels a timer and returns its payload; nil if it has fired or was cancelled before.
    @discardableResult
    mutating func cancel(_ id: TimerID) -> Payload? {
        let index = Int32(id.index)
        guard index < entries.count, entries[Int(index)].generation == id.generation,
            entries[Int(index)].payload != nil
        else { return nil }
        unlink(index)
        return free(index)
    }

    /// Removes one timer whose deadline is not after `tick`, earliest first; nil if none is left.
    ///
    /// One timer per call, so that the caller may schedule and cancel in between.
    mutating func takeDue(at tick: UInt64) -> Payload? {
        while heads[Self.due] == Self.none {
            guard let slot = nextSlot, slot.tick <= tick else {
                now = max(now, tick)
                return nil
            }
            now = max(now, slot.tick)
            spread(slot.list)
        }
        let index = heads[Self.due]
        unlink(index)
        return free(index)
    }

    /// Removes all timers.
    mutating func removeAll() {
        self = TimerWheel(now: now)
    }

    // MARK: Slots

    private var nextSlot: (tick: UInt64, list: Int)? {
        for level in 0..<Self.levelCount where taken[level] != 0 {
            let shift = UInt64(6 * level)
            let slotNow = (now >> shift) & 63
            let rotated = taken[level] >> slotNow | taken[level] << ((64 - slotNow) & 63)
            let distance = UInt64(rotated.trailingZeroBitCount)
            // All timers of a level are after now, and before those of the levels above.
            let tick = ((now >> shift) + distance) << shift
            return (max(tick, now), level * 64 + Int((slotNow + distance) & 63))
        }
        return nil
    }

    /// Moves the timers of a slot that now has reached: to the due list, or to a lower level.
    private mutating func spread(_ list: Int) {
        var index = heads[list]
        heads[list] = Self.none
        taken[list / 64] &= ~(1 << UInt64(list % 64))
        while index != Self.none {
            let next = entries[Int(index)].next
            place(index)
            index = next
        }
    }

    private mutating func place(_ index: Int32) {
        var deadline = entries[Int(index)].deadline
        guard deadline > now else { return link(index, into: Self.due) }
        // At most 63 slots ahead in the uppermost level: the 64th is the slot of now, which would be spread forever.
        let last = now >> Self.topShift + 63
        if deadline >> Self.topShift > last { deadline = last << Self.topShift }
        let highestBit = 63 - ((now ^ deadline) | 63).leadingZeroBitCount
        let level = min(highestBit / 6, Self.levelCount - 1)
        let slot = Int((deadline >> UInt64(6 * level)) & 63)
        taken[level] |= 1 << UInt64(slot)
        link(index, into: level * 64 + slot)
    }

    // MARK: Lists

    private mutating func link(_ index: Int32, into list: Int) {
        let head = heads[list]
        entries[Int(index)].list = Int32(list)
        entries[Int(index)].next = head
        entries[Int(index)].previous = Self.none
        if head != Self.none { entries[Int(head)].previous = index }
        heads[list] = index
    }

    private mutating func unlink(_ index: Int32) {
        let (next, previous) = (entries[Int(index)].next, entries[Int(index)].previous)
        let list = Int(entries[Int(index)].list)
        if next != Self.none { entries[Int(next)].previous = previous }
        if previous != Self.none {
            entries[Int(previous)].next = next
        } else {
            heads[list] = next
            if next == Self.none && list != Self.due {
                taken[list / 64] &= ~(1 << UInt64(list % 64))
            }
        }
    }

    private mutating func free(_ index: Int32) -> Payload? {
        let payload = entries[Int(index)].payload.take()
        entries[Int(index)].generation &+= 1
        entries[Int(index)].next = firstFree
        firstFree = index
        count -= 1
        return payload
    }
}
