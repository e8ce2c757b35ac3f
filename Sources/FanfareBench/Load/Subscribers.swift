import Histogram
import Net
import PusherProtocol

/// Connects the subscribers of one or more channels, and checks what each of them receives.
final class Subscribers: BenchClientDelegate {
    /// Counts the subscribed connections.
    private(set) var ramp: ConnectionRamp
    /// Checks the deliveries.
    private(set) var tracker: DeliveryTracker
    /// Delivery latency in nanoseconds, counted from when the event was due.
    private(set) var latencies = Histogram<UInt64>.latencies
    /// When the last delivery arrived.
    private(set) var lastDeliveryAt: MonotonicTime?
    /// The first error.
    private(set) var failure: BenchError?

    /// The channels that events are sent to.
    let channels: [ChannelName]
    /// Identifies the run's events; 24 bits.
    let run: UInt32

    private let generator: LoadGenerator
    private let recovery: Recovery
    private let tokens: RecoveryTokens
    private var scanner: EventMarkerScanner

    /// Creates the subscribers, without connections.
    ///
    /// - Parameters:
    ///   - channels: Public or private, at least one.
    ///   - subscribersPerChannel: At least 1.
    ///   - recovery: How they would get what they missed.
    ///   - generator: Opens the connections.
    init(
        channels: [ChannelName],
        subscribersPerChannel: Int,
        recovery: Recovery = .none,
        generator: LoadGenerator
    ) {
        self.channels = channels
        self.generator = generator
        self.recovery = recovery
        tokens = RecoveryTokens(recovery, unixTime: generator.reactor.unixTime)
        let count = channels.count * subscribersPerChannel
        ramp = ConnectionRamp(count: count)
        tracker = DeliveryTracker(subscriberCount: count, channelCount: channels.count)
        run = .random(in: 0..<1 << 24)
        scanner = EventMarkerScanner(run: run)
    }

    /// Opens more connections and shows the progress.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all subscriptions are acknowledged.
    /// - Throws: When a connection cannot be opened, or none was acknowledged within the stall timeout.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.connectClients(of: self, &ramp, tokens: tokens, at: now)
    }

    /// Creates the builder of requests for events to these subscribers.
    ///
    /// - Parameter dataLength: The length of each event's data in bytes, at least ``EventMarker/length``.
    /// - Returns: The builder.
    func requests(dataLength: Int) -> TriggerRequestBuilder {
        TriggerRequestBuilder(
            channels: channels,
            dataLength: dataLength,
            run: run,
            target: generator.target
        )
    }

    /// Counts a channel's next event as sent.
    ///
    /// - Parameters:
    ///   - channel: The channel's index.
    ///   - due: When the event was due.
    /// - Returns: The event.
    func nextEvent(on channel: Int, due: MonotonicTime) -> TriggeredEvent {
        TriggeredEvent(number: tracker.send(on: channel), channel: channel, due: due)
    }

    /// Returns the latencies since the last call, and resets them.
    func takeLatencies() -> Histogram<UInt64> {
        let taken = latencies
        latencies = .latencies
        return taken
    }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient, as socketID: SocketID) {
        let channel = channels[client.index % channels.count]
        let position = recovery == .position ? PositionRequest() : nil
        client.subscribe(
            generator.target.subscription(to: channel, of: socketID, from: position)
        )
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        ramp.markConnected(client)
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let marker = scanner.find(in: text) else { return false }
        if tracker.receive(marker.sequence, by: client.index) {
            latencies.record(from: marker.sentAt, to: now)
            lastDeliveryAt = now
        }
        return true
    }

    func clientFailed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
