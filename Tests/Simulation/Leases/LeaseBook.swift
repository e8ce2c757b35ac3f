import FanfareClient

/// What one reader of a lease has received, and what it must receive next.
final class LeaseBook: @unchecked Sendable {
    // SAFETY: a simulation has one thread.

    /// Which event may come next.
    enum Expectation {
        /// None: the subscription has no position yet, or the reader has no state.
        case none
        /// Any: what came before is covered by a gap or a state. Events from this number on are not, except those up to
        /// a position that a lease has given before the stream had reached it.
        case any(since: Int, after: [ChannelPosition] = [])
        /// The one after one of these positions; several while gaps wait for the reader.
        case after([ChannelPosition])
    }

    /// How an app reads.
    enum Kind {
        case deliveries
        /// With a state of the app, and whether the app knows its position.
        case state(hasPosition: Bool)
    }

    let name: String
    let kind: Kind
    let device: LeaseDevice
    let channel: Int
    let start: ChannelPosition?
    private unowned let world: LeaseWorld
    private(set) var expectation: Expectation
    /// Whether the broker's answer decides if the start is behind the channel.
    private var isWaiting = false
    /// Where the channel continues after each gap that is due, as long as no event has passed it.
    private var gaps: [ChannelPosition] = []
    private var dueGapCount = 0
    private var received: Set<Int> = []
    private var last: ChannelPosition?
    /// Whether the lease has ended.
    var hasEnded = false
    /// Injected fault: the reader is not told a gap.
    var missesGaps = false

    /// Begins to read.
    ///
    /// - Parameters:
    ///   - name: The name for reports.
    ///   - kind: How the app reads.
    ///   - device: The device.
    ///   - channel: The channel.
    ///   - start: The position that the lease was begun with.
    ///   - position: The position of the channel; `nil` if it is not known yet.
    ///   - world: The world.
    init(
        _ name: String,
        _ kind: Kind,
        _ device: LeaseDevice,
        _ channel: Int,
        from start: ChannelPosition?,
        at position: ChannelPosition?,
        in world: LeaseWorld
    ) {
        self.name = name
        self.kind = kind
        self.device = device
        self.channel = channel
        self.start = start
        self.world = world
        expectation = .none
        if let start {
            expectation = .after([start])
            isWaiting = position == nil
            if let position { checkStart(against: position) }
        } else if let position, case .deliveries = kind {
            expectation =
                world.isSlow
                ? .any(since: world.events.count, after: [position]) : .after([position])
        }
    }

    /// Whether the reader has begun.
    var hasBegun: Bool { if case .none = expectation { false } else { true } }

    private func checkStart(against position: ChannelPosition) {
        guard let start, start.stream != position.stream || start.serial < position.serial else {
            return
        }
        expectGap(before: position)
    }

    private func expectGap(before position: ChannelPosition) {
        gaps.append(position)
        dueGapCount += 1
    }

    // MARK: - The broker's answers

    /// Called when the broker has confirmed the subscription.
    ///
    /// - Parameters:
    ///   - position: The position at which it continues.
    ///   - isGap: Whether events before it are missing.
    func confirmed(at position: ChannelPosition, isGap: Bool) {
        if isGap {
            expectGap(before: position)
        } else if isWaiting {
            checkStart(against: position)
        } else if !hasBegun, case .deliveries = kind {
            expectation = .after([position])
        }
        isWaiting = false
    }

    // MARK: - What the reader gets

    func receive(_ delivery: Delivery<ChannelEvent>) {
        world.trace.record { "    \(name) reads \(delivery)" }
        switch delivery {
        case .event(let event, let position): receive(event, at: position)
        case .gap(let gap): receive(gap)
        case .recovered: break
        case .undecodable(let event, let error):
            world.report(.content, "\(name) cannot read \(event): \(error)")
        }
    }

    func receive(_ delivery: StateDelivery<LeaseState, ChannelEvent>) {
        world.trace.record { "    \(name) reads \(delivery)" }
        switch delivery {
        case .event(let event, let position): receive(event, at: position)
        case .state(let state):
            world.reach(.state)
            if case .state(hasPosition: true) = kind, let position = state.position {
                expectation = .after([position])
            } else {
                expectation = .any(since: state.eventCount)
            }
        case .undecodable(let event, let error):
            world.report(.content, "\(name) cannot read \(event): \(error)")
        }
    }

    private func receive(_ gap: Gap) {
        if missesGaps { return }
        world.reach(.gap("\(gap.reason)"))
        // The position of a channel that is held back is that of its last delivered event, which is not known here.
        if world.isSlow {
            expectation = .any(since: world.events.count, after: gaps)
        } else if dueGapCount > 0 {
            dueGapCount -= 1
            expectation = .after(gaps)
        } else {
            world.report(.honesty, "\(name) was told the gap \(gap), and misses nothing")
        }
    }

    private func receive(_ event: ChannelEvent, at position: ChannelPosition?) {
        guard let position, let id = LeaseWorld.id(of: event.data) else {
            return world.report(.content, "\(name) got \(event) at \(String(describing: position))")
        }
        let text = "event \(id) at \(position.stream) \(position.serial)"
        guard received.insert(id).inserted else {
            return world.report(.repeats, "\(name) got \(text) twice")
        }
        if let last, last.stream == position.stream, last.serial >= position.serial {
            return world.report(.order, "\(name) got \(text) after \(last.serial)")
        }
        switch expectation {
        case .none: return world.report(.repeats, "\(name) got \(text) before its start")
        case .any: break
        case .after(let places):
            guard places.contains(where: { device.hasPassed(from: $0, to: position, channel) })
            else {
                let isEarly = places.contains {
                    $0.stream == position.stream && $0.serial >= position.serial
                }
                let places = places.map { "\($0.stream) \($0.serial)" }
                return world.report(
                    isEarly ? .repeats : .recovery,
                    "\(name) got \(text), and has everything up to \(places)"
                )
            }
        }
        world.reach(.event)
        last = position
        expectation = .after([position])
        gaps.removeAll { $0.stream == position.stream && $0.serial < position.serial }
    }

    /// Called when the sequence ends.
    func ended(_ error: (any Error)?) {
        guard !hasEnded else { return }
        world.report(.answers, "\(name) ended: \(error.map { "\($0)" } ?? "without an error")")
    }

    // MARK: - Settlement

    /// Checks that the reader has everything up to the last event.
    func check(upTo head: ChannelPosition) {
        switch expectation {
        case .none: world.report(.answers, "\(name) has never begun")
        case .any(let count, let places):
            let missed = world.events[count...].first { event in
                guard event.channel == channel, event.isAccepted, let position = event.position
                else { return false }
                let isIncluded = places.contains {
                    $0.stream == position.stream && $0.serial >= position.serial
                }
                return !isIncluded && !device.isExcluded(from: event)
            }
            guard let missed else { return }
            world.report(.recovery, "\(name) has never got event \(missed.id)")
        case .after(let places):
            let end = ChannelPosition(stream: head.stream, serial: head.serial + 1)
            let hasAll = places.contains {
                $0.stream == head.stream && $0.serial >= head.serial
                    || device.hasPassed(from: $0, to: end, channel)
            }
            guard !hasAll else { return }
            let places = places.map { "\($0.stream) \($0.serial)" }
            world.report(
                .recovery,
                "\(name) has everything up to \(places), and was not told that the channel is at "
                    + "\(head.stream) \(head.serial)"
            )
        }
    }
}

/// A state of a simulated app: everything up to a position, and what was published before.
struct LeaseState: Sendable {
    var position: ChannelPosition?
    var eventCount: Int
}
