import Histogram
import Net
import PusherProtocol

/// The subscribers of one channel that several connections publish to; checks what each of them receives.
final class OverloadReaders: BenchClientDelegate {
    /// Which subscribers are connected.
    private(set) var ramp: ConnectionRamp
    /// What was sent, answered and received.
    var ledger: EventLedger
    /// Nanoseconds from when an event was due to each of its deliveries.
    private(set) var latencies = Histogram<UInt64>.latencies
    /// How the server ended connections that it should have kept.
    private(set) var disconnections = DisconnectionCounts()
    /// The first thing that makes a run impossible.
    private(set) var failure: BenchError?

    /// Where the events go.
    let channel: ChannelName
    /// Tells its events from all others; 24 bits.
    let run: UInt32

    private let generator: LoadGenerator
    private var scanner: EventMarkerScanner

    /// Readers that have yet to connect.
    ///
    /// - Parameters:
    ///   - channel: Public or private.
    ///   - count: At least 1.
    ///   - publisherCount: The number of connections that publish to the channel.
    ///   - generator: Makes the connections.
    init(of channel: ChannelName, count: Int, publisherCount: Int, generator: LoadGenerator) {
        self.channel = channel
        self.generator = generator
        ramp = ConnectionRamp(count: count)
        ledger = EventLedger(publisherCount: publisherCount, readerCount: count)
        run = .random(in: 0..<1 << 24)
        scanner = EventMarkerScanner(run: run)
    }

    /// The number of readers whose connections stand.
    var openCount: Int { ramp.connectedCount - disconnections.total }

    /// Connects more readers, and shows how many are subscribed.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all subscriptions are acknowledged.
    /// - Throws: Why there can be no connection, or that none was acknowledged for too long.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.connectClients(of: self, &ramp, at: now)
    }

    /// Makes a builder for the requests of events to these readers.
    ///
    /// - Parameter dataLength: The length of each event's data in bytes, at least ``EventMarker/length``.
    /// - Returns: The builder.
    func requests(dataLength: Int) -> TriggerRequestBuilder {
        TriggerRequestBuilder(
            channels: [channel],
            dataLength: dataLength,
            run: run,
            target: generator.target
        )
    }

    /// Returns the latencies since the last call, and begins anew.
    func takeLatencies() -> Histogram<UInt64> {
        let taken = latencies
        latencies = .latencies
        return taken
    }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient, as socketID: SocketID) {
        client.subscribe(generator.target.subscription(to: channel, of: socketID))
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        ramp.markConnected(client)
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let marker = scanner.find(in: text) else { return false }
        if ledger.receive(marker.sequence, by: client.index) {
            latencies.record(from: marker.sentAt, to: now)
        }
        return true
    }

    func clientDisconnected(_ client: BenchClient, _ disconnection: Disconnection) -> Bool {
        // One that was never subscribed is a failure: the run needs it.
        guard disconnection.wasSubscribed else { return false }
        disconnections.count(disconnection)
        ledger.removeReader(client.index)
        return true
    }

    func clientFailed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
