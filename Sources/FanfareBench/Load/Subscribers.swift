import Histogram
import Net
import PusherProtocol

/// The subscribers of one or many channels: connects them and checks what each of them receives.
final class Subscribers: BenchClientDelegate {
    /// Who is in.
    private(set) var ramp: ConnectionRamp
    /// What has been sent and received.
    private(set) var tracker: DeliveryTracker
    /// Nanoseconds from when an event was due to each of its deliveries.
    private(set) var latencies = Histogram<UInt64>.latencies
    /// When the last delivery arrived.
    private(set) var lastDeliveryAt: MonotonicTime?
    /// The first thing that went wrong.
    private(set) var failure: BenchError?

    /// Where the events go.
    let channels: [ChannelName]
    /// Tells its events from all others; 24 bits.
    let run: UInt32

    private let generator: LoadGenerator
    private var scanner: EventMarkerScanner

    /// An subscribers that nobody belongs to yet.
    ///
    /// - Parameters:
    ///   - channels: Public or private, at least one.
    ///   - subscribersPerChannel: At least 1.
    ///   - generator: Makes the connections.
    init(channels: [ChannelName], subscribersPerChannel: Int, generator: LoadGenerator) {
        self.channels = channels
        self.generator = generator
        let count = channels.count * subscribersPerChannel
        ramp = ConnectionRamp(count: count)
        tracker = DeliveryTracker(subscriberCount: count, channelCount: channels.count)
        run = .random(in: 0..<1 << 24)
        scanner = EventMarkerScanner(run: run)
    }

    /// Lets more subscribers in, and shows how many are.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all subscriptions are acknowledged.
    /// - Throws: Why there can be no connection, or that none has been let in for too long.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.connectClients(of: self, &ramp, at: now)
    }

    /// Makes a builder for the requests of events to these subscribers.
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

    /// Hands over the latencies since the last time, and begins with none.
    func takeLatencies() -> Histogram<UInt64> {
        let taken = latencies
        latencies = .latencies
        return taken
    }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient, as socketID: SocketID) {
        let channel = channels[client.index % channels.count]
        client.subscribe(generator.target.subscription(to: channel, of: socketID))
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
