import Histogram
import Net
import PusherProtocol
import WebSocket

/// All subscribers of a run: connects them and checks what each of them receives.
final class Audience {
    /// What has been sent and received.
    private(set) var tally: Tally
    /// Nanoseconds from when an event was due to each of its deliveries.
    private(set) var latencies: Histogram<UInt64>
    /// When the last delivery arrived.
    private(set) var lastDeliveryAt: MonotonicTime?
    /// How many subscriptions the server has acknowledged.
    private(set) var acknowledgedCount = 0
    /// The first thing that went wrong.
    private(set) var failure: BenchError?

    private let reactor: Reactor
    private let plan: FanoutPlan
    private let dialer: Dialer
    private let run: UInt32
    private var scanner: MarkerScanner
    /// How many connections were begun; their streams own the subscribers.
    private var begunCount = 0

    /// An audience that nobody belongs to yet.
    ///
    /// - Parameters:
    ///   - plan: Says how many they are, and what they subscribe to.
    ///   - dialer: Makes their connections.
    ///   - reactor: Whose thread all calls come on.
    init(plan: FanoutPlan, dialer: Dialer, reactor: Reactor) {
        self.plan = plan
        self.dialer = dialer
        self.reactor = reactor
        run = .random(in: 0..<1 << 24)
        scanner = MarkerScanner(run: run)
        tally = Tally(subscriberCount: plan.subscriberCount)
        // To the microsecond, up to an hour, with three digits.
        latencies = Histogram(
            lowestDiscernibleValue: 1_000,
            highestTrackableValue: 3_600_000_000_000
        )
    }

    /// Whether all subscriptions are acknowledged.
    var isComplete: Bool { acknowledgedCount == plan.subscriberCount }

    /// Begins as many connections as may be under way.
    func connectMore() {
        while begunCount < plan.subscriberCount, failure == nil,
            begunCount - acknowledgedCount < FanoutPlan.connectingMax
        {
            let index = begunCount
            begunCount += 1
            let url = ConnectionURL(key: plan.key, client: "fanfare-bench", clientVersion: "1.0")
            do {
                let handshake = try ClientHandshake(
                    host: plan.target.hostField,
                    target: url.target(pathPrefix: plan.target.pathPrefix),
                    nonce: (0..<16).map { _ in .random(in: .min ... .max) }
                )
                let subscriber = Subscriber(index: index, audience: self, handshake: handshake)
                _ = try dialer.connect(on: reactor, owner: subscriber)
            } catch {
                fail(.subscriberRefused(index: index, reason: "\(error)"))
            }
        }
    }

    /// Makes the data of the next event, and counts it as sent.
    ///
    /// - Parameter due: When it was due.
    /// - Returns: Bytes that mean themselves in a JSON string.
    func nextData(due: MonotonicTime) -> [UInt8] {
        Marker(run: run, sequence: tally.send(), sentAt: due.nanoseconds)
            .data(length: plan.dataLength)
    }

    // MARK: For the subscribers

    /// The message with which a connection subscribes.
    func subscription(of socketID: SocketID) -> ClientMessage {
        let channel = plan.channel
        guard channel.kind.requiresSignature else {
            return .subscribe(channel: channel.text, auth: nil, channelData: nil)
        }
        let auth = ChannelSignature.auth(
            socketID: socketID,
            channel: channel.text,
            key: plan.key,
            secret: plan.secret
        )
        return .subscribe(channel: channel.text, auth: auth, channelData: nil)
    }

    /// Counts a subscriber as ready to receive.
    func acknowledge() { acknowledgedCount += 1 }

    /// Checks what a subscriber received.
    ///
    /// - Returns: Whether it is an event of this run.
    func deliver(_ text: Span<UInt8>, to index: Int, at now: MonotonicTime) -> Bool {
        guard let marker = scanner.find(in: text) else { return false }
        if tally.receive(marker.sequence, by: index) {
            // The clock is one for all: what is negative came back with a wrong time.
            latencies.record(UInt64(max(now.nanoseconds - marker.sentAt, 0)))
            lastDeliveryAt = now
        }
        return true
    }

    /// Notes the first failure.
    func fail(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
