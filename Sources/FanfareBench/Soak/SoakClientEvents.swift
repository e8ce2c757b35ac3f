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
    private var clients: [BenchClient?]
    /// The events that each client has received of each other one in its group.
    private var trackers: [SequenceTracker]
    /// The number of events that each client has sent.
    private var sentCounts: [UInt32]
    private var schedule: Schedule?
    private var isTimedOut = false

    /// The number of clients that share a channel.
    static let groupSize = 4
    /// Events per second of each client; the protocol allows 10.
    private static let rate = 2.0

    /// Creates the clients, without connections.
    init(groupCount: Int, generator: LoadGenerator) {
        self.generator = generator
        let count = groupCount * Self.groupSize
        scanner = EventMarkerScanner(run: run)
        ramp = ConnectionRamp(count: count)
        clients = [BenchClient?](repeating: nil, count: count)
        sentCounts = [UInt32](repeating: 0, count: count)
        trackers = (0..<count * Self.groupSize).map { place in
            let (receiver, member) = place.quotientAndRemainder(dividingBy: Self.groupSize)
            let sender = receiver - receiver % Self.groupSize + member
            return SequenceTracker(from: UInt32(sender), stride: UInt32(count))
        }
    }

    private var sentCount: Int { sentCounts.reduce(0) { $0 + Int($1) } }
    private var expected: Int { sentCount * (Self.groupSize - 1) }
    private var count: Int { clients.count }

    private static func channel(ofGroup group: Int) -> String { "private-soak-room-\(group)" }

    // MARK: SoakWorkload

    func step(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        let pace = Pace.rate(Self.rate * Double(count))
        let schedule = schedule ?? Schedule(pace: pace, start: now, sentBefore: sentCount)
        self.schedule = schedule
        while true {
            switch schedule.step(sent: sentCount, missing: 0, now: now) {
            case .send(let due): sendEvent((sentCount - schedule.sentBefore) % count, due: due)
            case .wait(let due): return due
            case .waitForDeliveries, .finished: return nil
            }
        }
    }

    private func sendEvent(_ sender: Int, due: MonotonicTime) {
        let number = UInt32(sender) + sentCounts[sender] * UInt32(count)
        sentCounts[sender] += 1
        let marker = EventMarker(run: run, sequence: number, sentAt: due.nanoseconds)
        let quote = UInt8(ascii: "\"")
        let event = ClientEvent(
            nameToken: Array(#""client-soak""#.utf8),
            channel: Self.channel(ofGroup: sender / Self.groupSize),
            dataToken: [quote] + marker.data(length: EventMarker.length) + [quote]
        )
        clients[sender]?.send(.clientEvent(event))
    }

    func drain(at now: MonotonicTime, isLate: Bool) -> Bool {
        schedule = nil
        if deliveryCounts.deliveries >= expected { return true }
        if isLate, !isTimedOut {
            isTimedOut = true
            // Events that a later one has overtaken are already counted.
            for receiver in clients.indices {
                let first = receiver - receiver % Self.groupSize
                for sender in first..<first + Self.groupSize where sender != receiver {
                    let upcoming = UInt32(sender) + sentCounts[sender] * UInt32(count)
                    let place = receiver * Self.groupSize + sender - first
                    deliveryCounts.lost += trackers[place].missing(before: upcoming)
                }
            }
        }
        return isLate
    }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient, as socketID: SocketID) {
        clients[client.index] = client
        let group = client.index / Self.groupSize
        do throws(BenchError) {
            let channel = try ChannelName.named(Self.channel(ofGroup: group))
            client.subscribe(generator.target.subscription(to: channel, of: socketID))
        } catch {
            generator.fail(error)
        }
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

    // MARK: Report

    var rows: [Row] {
        Row(
            label: "client events",
            text: "\(grouped(sentCount)) sent, \(deliveryCounts.text)",
            members: [("client_events_sent", .integer(sentCount))]
                + deliveryCounts.members("client_events")
        )
    }
}
