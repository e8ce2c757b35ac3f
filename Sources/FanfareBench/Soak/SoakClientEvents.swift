import CommandSupport
import Net
import PusherProtocol

/// Connections in rooms of four that send client events to one another, and check what they hear.
final class SoakTalkers: SoakPart, Crowd {
    private(set) var receipts = Receipts()
    private(set) var failure: BenchError?

    private let generator: Generator
    private let run: UInt32
    private var scanner: MarkerScanner
    private var admission: Admission
    private var devices: [Device?]
    /// What each has heard of each other one in its room.
    private var heard: [Following]
    /// How many events each has sent.
    private var sentCounts: [UInt32]
    private var flow: (schedule: Schedule, sentBefore: Int)?
    private var isTimedOut = false

    /// How many share a channel.
    static let roomSize = 4
    /// Events a second that each sends: fewer than the 10 that the protocol allows.
    private static let rate = 2.0

    /// Talkers who have yet to connect.
    ///
    /// - Parameters:
    ///   - roomCount: How many rooms there are.
    ///   - generator: Makes the connections.
    init(roomCount: Int, generator: Generator) {
        self.generator = generator
        let count = roomCount * Self.roomSize
        run = .random(in: 0..<1 << 24)
        scanner = MarkerScanner(run: run)
        admission = Admission(count: count)
        devices = [Device?](repeating: nil, count: count)
        sentCounts = [UInt32](repeating: 0, count: count)
        heard = (0..<count * Self.roomSize).map { place in
            let (listener, seat) = place.quotientAndRemainder(dividingBy: Self.roomSize)
            let speaker = listener - listener % Self.roomSize + seat
            return Following(from: UInt32(speaker), stride: UInt32(count))
        }
    }

    private var sentCount: Int { sentCounts.reduce(0) { $0 + Int($1) } }
    private var expected: Int { sentCount * (Self.roomSize - 1) }
    private var count: Int { devices.count }

    private static func channel(ofRoom room: Int) -> String { "private-soak-room-\(room)" }

    // MARK: Part

    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.assemble(self, &admission, at: now)
    }

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        let pace = Pace.rate(Self.rate * Double(count))
        let flow = flow ?? (Schedule(pace: pace, messageCount: .max, start: now), sentCount)
        self.flow = flow
        while true {
            let sent = sentCount - flow.sentBefore
            switch flow.schedule.step(sent: sent, missing: 0, now: now) {
            case .send(let due): speak(sent % count, due: due)
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
    }

    private func speak(_ talker: Int, due: MonotonicTime) {
        let number = UInt32(talker) + sentCounts[talker] * UInt32(count)
        sentCounts[talker] += 1
        let marker = Marker(run: run, sequence: number, sentAt: due.nanoseconds)
        let quote = UInt8(ascii: "\"")
        let event = ClientEvent(
            nameToken: Array(#""client-soak""#.utf8),
            channel: Self.channel(ofRoom: talker / Self.roomSize),
            dataToken: [quote] + marker.data(length: Marker.length) + [quote]
        )
        devices[talker]?.send(.clientEvent(event))
    }

    func retire(at now: MonotonicTime, isLate: Bool) -> Bool {
        flow = nil
        if receipts.deliveries >= expected { return true }
        if isLate, !isTimedOut {
            isTimedOut = true
            // What a later one has overtaken has been counted already.
            for listener in devices.indices {
                let first = listener - listener % Self.roomSize
                for speaker in first..<first + Self.roomSize where speaker != listener {
                    let upcoming = UInt32(speaker) + sentCounts[speaker] * UInt32(count)
                    let place = listener * Self.roomSize + speaker - first
                    receipts.lost += heard[place].missing(before: upcoming)
                }
            }
        }
        return isLate
    }

    // MARK: Crowd

    func greeted(_ device: Device, as socketID: SocketID) {
        devices[device.index] = device
        let room = device.index / Self.roomSize
        do throws(ChannelNameError) {
            let channel = try ChannelName(Self.channel(ofRoom: room))
            device.subscribe(generator.subject.subscription(to: channel, of: socketID))
        } catch {
            failed(.machine("\(error)"))
        }
    }

    func acknowledged(_ device: Device, at now: MonotonicTime) { admission.admit(device) }

    func heard(_ text: Span<UInt8>, by device: Device, at now: MonotonicTime) -> Bool {
        guard let marker = scanner.find(in: text) else { return false }
        let speaker = Int(marker.sequence) % count
        let room = speaker / Self.roomSize
        guard room == device.index / Self.roomSize, speaker != device.index else {
            receipts.misplaced += 1
            return true
        }
        let place = device.index * Self.roomSize + speaker % Self.roomSize
        receipts.count(heard[place].receive(marker.sequence))
        return true
    }

    func failed(_ error: BenchError) {
        if failure == nil { failure = error }
    }

    // MARK: The report

    var rows: [BenchReport.Row] {
        [
            .init(
                label: "client events",
                text: "\(grouped(sentCount)) sent, \(receipts.text)",
                members: [("client_events_sent", .integer(sentCount))]
                    + receipts.members("client_events")
            )
        ]
    }

    var fault: String? { nil }
}
