import Histogram
import Net
import PusherProtocol

/// Subscribers of one channel that lose their connections and come back as stock clients do.
///
/// pusher-js reconnects a second after a connection has ended or was refused, and at once after a code from 4200 to 4299.
final class ReturningClients: BenchClientDelegate {
    let count: Int
    private let channel: ChannelName
    let run = UInt32.random(in: 0..<1 << 24)
    private(set) var subscribedCount = 0
    /// The connections that the server has closed or refused, or that have failed.
    private(set) var disconnections = DisconnectionCounts()
    /// What the clients have received; events that came to a client again are misplaced.
    private(set) var received = DeliveryCounts()
    /// The gaps that clients were told of since they came back.
    private(set) var gapCount = 0
    /// Called for each event that a client receives for the first time: its number, when it was due, and the time.
    var onDelivery: (UInt32, Int64, MonotonicTime) -> Void = { _, _, _ in }

    let generator: LoadGenerator
    private let recovery: Recovery
    private var scanner: EventMarkerScanner
    /// The events that each client has received over all of its connections.
    private var sequences: [SequenceTracker]
    private var connections: [BenchClient?]
    private var positions: [ChannelPosition?]
    private let tokens: RecoveryTokens
    private var ready: [Int] = []
    /// The clients that wait before they connect, in order of time since all wait equally long.
    private var waiting: [(index: Int, due: MonotonicTime)] = []
    private var firstWaiting = 0
    private var connectingCount = 0
    /// Whether all clients have been subscribed at the same time; before that, a lost connection is a failure.
    private var haveBegun = false

    private static let reconnectDelay = Duration.seconds(1)
    /// The connections that may be opening at once: about as many as a listening socket holds.
    private static let connectingMax = 1_024

    init(count: Int, channel: ChannelName, recovery: Recovery, _ generator: LoadGenerator) {
        self.count = count
        self.channel = channel
        self.recovery = recovery
        self.generator = generator
        scanner = EventMarkerScanner(run: run)
        sequences = .init(repeating: SequenceTracker(from: 0, stride: 1), count: count)
        connections = [BenchClient?](repeating: nil, count: count)
        positions = [ChannelPosition?](repeating: nil, count: count)
        tokens = RecoveryTokens(recovery, unixTime: generator.reactor.unixTime)
    }

    /// Lets all clients connect that have no connection.
    func connectAll() { ready += (0..<count).filter { connections[$0] == nil } }

    /// Opens the connections that are due; returns when the next one is, or nil if that depends on open ones.
    func connectDue(at now: MonotonicTime) throws(BenchError) -> MonotonicTime? {
        while firstWaiting < waiting.count, waiting[firstWaiting].due <= now {
            ready.append(waiting[firstWaiting].index)
            firstWaiting += 1
        }
        while connectingCount < Self.connectingMax, let index = ready.popLast() {
            connectingCount += 1
            connections[index] = try generator.connect(index, self, token: tokens[index])
        }
        guard firstWaiting < waiting.count else {
            waiting.removeAll(keepingCapacity: true)
            firstWaiting = 0
            return nil
        }
        return waiting[firstWaiting].due
    }

    var areSubscribed: Bool { subscribedCount == count }
    /// The number of deliveries, without repeated ones.
    var deliveredCount: Int { received.deliveries - received.misplaced }
    var firstMissing: Int { sequences.reduce(.max) { min($0, Int($1.next ?? 0)) } }

    /// Whether each client has received, or skipped, all events before a number.
    func haveReceived(upTo count: Int) -> Bool {
        sequences.allSatisfy { Int($0.next ?? 0) >= count }
    }

    /// Resets all connections, as a lost network would; the clients stay away until ``connectAll()``.
    func resetAll() {
        // A broker that has just started cannot know whether a token is new, and tells of a gap.
        gapCount = 0
        for connection in connections { connection?.reset() }
    }

    private func ended(_ client: BenchClient, wasSubscribed: Bool) {
        connections[client.index] = nil
        if wasSubscribed { subscribedCount -= 1 } else { connectingCount -= 1 }
    }

    func clientConnected(_ client: BenchClient) {
        let position = recovery == .position ? PositionRequest(positions[client.index]) : nil
        client.subscribe(to: channel, from: position)
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        connectingCount -= 1
        subscribedCount += 1
        if areSubscribed { haveBegun = true }
        guard let start = client.start else { return }
        positions[client.index] = start.position
        switch start.continuity {
        case .gap: gapCount += 1
        case .recovered, .began: break
        }
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let marker = scanner.find(in: text) else {
            if Self.isGap(text) { gapCount += 1 }
            return false
        }
        if let position = positions[client.index] {
            positions[client.index] = ChannelPosition(
                stream: position.stream,
                serial: position.serial + 1
            )
        }
        let arrival = sequences[client.index].receive(marker.sequence)
        received.count(arrival)
        if arrival != .misplaced { onDelivery(marker.sequence, marker.sentAt, now) }
        return true
    }

    private static func isGap(_ text: Span<UInt8>) -> Bool {
        let gap: StaticString = #"{"event":"pusher:gap""#
        guard text.count >= gap.utf8CodeUnitCount else { return false }
        return gap.withUTF8Buffer { gap in gap.indices.allSatisfy { text[$0] == gap[$0] } }
    }

    func clientClosed(_ client: BenchClient, isClean: Bool) { ended(client, wasSubscribed: true) }

    func clientDisconnected(_ client: BenchClient, _ disconnection: Disconnection) -> Bool {
        guard haveBegun else { return false }
        if let code = disconnection.code, !(4100..<4300).contains(code), code != 1001 {
            // A stock client does not come back.
            return false
        }
        disconnections.count(disconnection)
        ended(client, wasSubscribed: disconnection.wasSubscribed)
        if let code = disconnection.code, (4200..<4300).contains(code) {
            ready.append(client.index)
        } else {
            waiting.append((client.index, .current.advanced(by: Self.reconnectDelay)))
        }
        return true
    }
}
