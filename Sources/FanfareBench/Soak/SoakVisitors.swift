import CommandSupport
import Net
import PusherProtocol

/// Connections that come to the residents' channels, stay for some seconds, check what they receive, and go.
final class SoakVisitors: SoakPart, Crowd {
    private(set) var receipts = Receipts()
    private(set) var failure: BenchError?

    private let name: String
    private let audience: Subscribers
    private let generator: Generator
    private let rate: Double
    private var scanner: MarkerScanner
    private var stays: [Int: Stay] = [:]
    private var schedule: Schedule?
    private var begunCount = 0
    private var begunBefore = 0
    private var endings: [Manner: Int] = [:]
    private var partings = Partings()
    private var checkedAt: MonotonicTime?

    /// How a visitor behaves.
    private enum Manner: Int, CaseIterable {
        /// It closes the connection as it should be closed.
        case polite
        /// Its network is gone: a reset.
        case reset
        /// It goes to another channel first.
        case moving
        /// It does not read for a second, reads for one, and so on.
        case sipping
    }

    private struct Stay {
        var manner: Manner
        var channel: Int
        var device: Device?
        var socketID: SocketID?
        /// What it has received; nil before it is subscribed.
        var following: Following?
        /// When it is to leave.
        var leavesAt: MonotonicTime
        /// It leaves as soon as it has received everything before this number.
        var mark: UInt32?
        /// When it last stopped reading, or began again.
        var sippedAt: MonotonicTime?
        var isStalled = false
        var isLeaving = false
    }

    /// How long a visitor that is to leave waits for what was sent before.
    private static let farewell = Duration.seconds(10)

    /// Visitors who have yet to come.
    ///
    /// - Parameters:
    ///   - name: For people and, in small letters with underscores, for programs.
    ///   - audience: Whose channels they come to.
    ///   - rate: How many come a second.
    ///   - generator: Makes the connections.
    init(name: String, of audience: Subscribers, rate: Double, generator: Generator) {
        self.name = name
        self.audience = audience
        self.rate = rate
        self.generator = generator
        scanner = MarkerScanner(run: audience.run)
    }

    /// How many are connected, or about to be.
    var count: Int { stays.count }

    // MARK: Part

    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool { true }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        let schedule = schedule ?? Schedule(pace: .rate(rate), messageCount: .max, start: now)
        if self.schedule == nil { begunBefore = begunCount }
        self.schedule = schedule
        manage(at: now, isRetiring: false)
        while stays.count < Admission.underWayMax * 4 {
            switch schedule.step(sent: begunCount - begunBefore, missing: 0, now: now) {
            case .send: try invite(at: now)
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
        return nil
    }

    func retire(at now: MonotonicTime, isLate: Bool) -> Bool {
        schedule = nil
        manage(at: now, isRetiring: true)
        return stays.isEmpty || isLate
    }

    private func invite(at now: MonotonicTime) throws(BenchError) {
        let index = begunCount
        begunCount += 1
        stays[index] = Stay(
            manner: Manner.allCases[index % Manner.allCases.count],
            channel: index % audience.channels.count,
            leavesAt: now.advanced(by: .milliseconds(.random(in: 500...8_000)))
        )
        stays[index]?.device = try generator.dialer.connect(index, of: self, on: generator.reactor)
    }

    /// Ten times a second: lets those go whose time has come, and those sip who do.
    private func manage(at now: MonotonicTime, isRetiring: Bool) {
        if let checkedAt, checkedAt.duration(to: now) < BenchStep.tick { return }
        checkedAt = now
        for (index, stay) in stays where stay.following != nil && !stay.isLeaving {
            var stay = stay
            if stay.mark == nil, isRetiring || stay.leavesAt <= now { sayGoodbye(&stay, at: now) }
            if stay.manner == .sipping, stay.mark == nil { sip(&stay, at: now) }
            stays[index] = stay
            if stay.mark != nil { leave(index, isLate: stay.leavesAt <= now) }
        }
    }

    private func sayGoodbye(_ stay: inout Stay, at now: MonotonicTime) {
        stay.mark = audience.tally.upcoming(on: stay.channel)
        stay.leavesAt = now.advanced(by: Self.farewell)
        if stay.isStalled { stay.device?.wake() }
        stay.isStalled = false
    }

    private func sip(_ stay: inout Stay, at now: MonotonicTime) {
        if let last = stay.sippedAt, last.duration(to: now) < .seconds(1) { return }
        stay.sippedAt = now
        stay.isStalled.toggle()
        if stay.isStalled { stay.device?.stall() } else { stay.device?.wake() }
    }

    /// Lets a visitor go that has everything, or that has waited for it too long.
    private func leave(_ index: Int, isLate: Bool) {
        guard var stay = stays[index], let device = stay.device, let mark = stay.mark else {
            return
        }
        let missing = stay.following?.missing(before: mark) ?? 0
        guard missing == 0 || isLate else { return }
        receipts.lost += missing
        if stay.manner == .moving, schedule != nil, let socketID = stay.socketID {
            return move(index, stay, device, socketID)
        }
        stay.isLeaving = true
        stays[index] = stay
        if stay.manner == .reset { device.reset() } else { device.leave() }
    }

    private func move(_ index: Int, _ stay: Stay, _ device: Device, _ socketID: SocketID) {
        var stay = stay
        device.unsubscribe(from: audience.channels[stay.channel])
        stay.manner = .polite
        stay.channel = (stay.channel + 1) % audience.channels.count
        stay.following = nil
        stay.mark = nil
        stay.leavesAt = MonotonicTime.current.advanced(by: .seconds(2))
        stays[index] = stay
        endings[.moving, default: 0] += 1
        device.subscribe(
            generator.subject.subscription(to: audience.channels[stay.channel], of: socketID)
        )
    }

    // MARK: Crowd

    func greeted(_ device: Device, as socketID: SocketID) {
        guard let stay = stays[device.index] else { return }
        stays[device.index]?.socketID = socketID
        device.subscribe(
            generator.subject.subscription(to: audience.channels[stay.channel], of: socketID)
        )
    }

    func acknowledged(_ device: Device, at now: MonotonicTime) {
        guard let stay = stays[device.index] else { return }
        stays[device.index]?.following = Following(
            from: audience.tally.upcoming(on: stay.channel),
            stride: UInt32(audience.tally.channelCount)
        )
    }

    func heard(_ text: Span<UInt8>, by device: Device, at now: MonotonicTime) -> Bool {
        guard let marker = scanner.find(in: text) else { return false }
        guard let stay = stays[device.index], !stay.isLeaving else { return true }
        guard Int(marker.sequence) % audience.tally.channelCount == stay.channel else {
            receipts.misplaced += 1
            return true
        }
        if let receipt = stays[device.index]?.following?.receive(marker.sequence) {
            receipts.count(receipt)
        }
        return true
    }

    func left(_ device: Device, isClean: Bool) {
        if let stay = stays.removeValue(forKey: device.index) {
            endings[stay.manner, default: 0] += 1
        }
    }

    func parted(_ device: Device, _ parting: Parting) -> Bool {
        stays[device.index] = nil
        partings.count(parting)
        return true
    }

    func failed(_ error: BenchError) {
        if failure == nil { failure = error }
    }

    // MARK: The report

    var rows: [BenchReport.Row] {
        let label = name.lowercased().replacing(" ", with: "_")
        func ended(_ manner: Manner) -> Int { endings[manner, default: 0] }
        return [
            .init(
                label: name,
                text: """
                    \(grouped(begunCount)) came, \(grouped(ended(.reset))) were reset, \
                    \(grouped(ended(.moving))) moved, \(grouped(ended(.sipping))) sipped; \
                    \(receipts.text)
                    """,
                members: [
                    ("\(label)_came", .integer(begunCount)),
                    ("\(label)_reset", .integer(ended(.reset))),
                    ("\(label)_moved", .integer(ended(.moving))),
                    ("\(label)_sipped", .integer(ended(.sipping))),
                ] + receipts.members(label)
            ),
            .init(
                label: "\(name) that the server closed",
                text: partings.description,
                members: partings.members(label)
            ),
        ]
    }

    var fault: String? {
        let silent = partings.ended + (partings.refused[-1] ?? 0)
        guard silent == 0 else {
            return "\(grouped(silent)) of \(name) were cut off without a code"
        }
        return partings.fault
            ?? (stays.isEmpty ? nil : "\(grouped(stays.count)) of \(name) never left")
    }
}
