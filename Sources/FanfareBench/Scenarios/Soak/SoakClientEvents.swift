import CommandSupport
import Net
import PusherProtocol

/// Connections in groups of four that send client events to each other, and check what they receive.
final class SoakClientEvents: SoakWorkload, RampedClients {
    private(set) var deliveryCounts = DeliveryCounts()
    let generator: LoadGenerator

    private let run = UInt32.random(in: 0..<1 << 24)
    private var scanner: EventMarkerScanner
    var ramp: ConnectionRamp
    private let channels: [ChannelName]
    private var clients: [BenchClient?]
    /// The events that each client has received of each other one in its group.
    private var trackers: [SequenceTracker]
    private var sentCount = 0
    private let schedule: Schedule
    private var isTimedOut = false

    /// The number of clients that share a channel.
    static let groupSize = 4
    /// Events per second of each client; the protocol allows 10.
    private static let rate = 2.0

    init(groupCount: Int, _ generator: LoadGenerator) throws(BenchError) {
        self.generator = generator
        channels = try ChannelName.named((0..<groupCount).map { "private-soak-room-\($0)" })
        let count = groupCount * Self.groupSize
        scanner = EventMarkerScanner(run: run)
        ramp = ConnectionRamp(count: count)
        schedule = Schedule(.rate(Self.rate * Double(count)))
        clients = [BenchClient?](repeating: nil, count: count)
        trackers = (0..<count * Self.groupSize).map { place in
            let (receiver, member) = place.quotientAndRemainder(dividingBy: Self.groupSize)
            let sender = receiver - receiver % Self.groupSize + member
            return SequenceTracker(from: UInt32(sender), stride: UInt32(count))
        }
    }

    private var expected: Int { sentCount * (Self.groupSize - 1) }
    private var count: Int { clients.count }

    func connect() throws(BenchError) { try generator.connect(self) }

    func step(at now: MonotonicTime) -> MonotonicTime? {
        schedule.sendDue(while: true) { sendNext(due: $0) }
    }

    /// Sends an event of the next client in turn, whose index is the event's number modulo that of the clients.
    private func sendNext(due: MonotonicTime) {
        let sender = sentCount % count
        let marker = EventMarker(run: run, sequence: UInt32(sentCount), sentAt: due.nanoseconds)
        sentCount += 1
        let quote = UInt8(ascii: "\"")
        let event = ClientEvent(
            nameToken: Array(#""client-soak""#.utf8),
            channel: channels[sender / Self.groupSize].text,
            dataToken: [quote] + marker.data(length: EventMarker.length) + [quote]
        )
        clients[sender]?.send(.clientEvent(event))
    }

    func drain(at now: MonotonicTime) -> Bool {
        schedule.pause()
        return deliveryCounts.deliveries >= expected
    }

    func giveUp() {
        guard !isTimedOut else { return }
        isTimedOut = true
        // Events that a later one has overtaken are already counted.
        for receiver in clients.indices {
            let first = receiver - receiver % Self.groupSize
            for sender in first..<first + Self.groupSize where sender != receiver {
                let tracker = trackers[receiver * Self.groupSize + sender - first]
                deliveryCounts.lost += tracker.missing(before: UInt32(sentCount))
            }
        }
    }

    func clientConnected(_ client: BenchClient) {
        clients[client.index] = client
        client.subscribe(to: channels[client.index / Self.groupSize])
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        ramp.markConnected(client)
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let marker = scanner.find(in: text) else { return false }
        let sender = Int(marker.sequence) % count
        let group = sender / Self.groupSize
        guard group == client.index / Self.groupSize, sender != client.index else {
            deliveryCounts.misplaced += 1
            return true
        }
        let place = client.index * Self.groupSize + sender % Self.groupSize
        deliveryCounts.count(trackers[place].receive(marker.sequence))
        return true
    }

    var rows: [Row] {
        Row(
            label: "client events",
            text: "\(grouped(sentCount)) sent, \(deliveryCounts.text)",
            members: [("client_events_sent", .integer(sentCount))]
                + deliveryCounts.members("client_events")
        )
    }
}
