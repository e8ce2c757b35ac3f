import Histogram
import Net
import PusherProtocol

/// The subscribers of a channel that several connections publish to; checks what each of them receives.
final class OverloadReaders: BenchClientDelegate {
    /// Counts the subscribed connections.
    private(set) var ramp: ConnectionRamp
    /// Checks the answers and deliveries.
    var ledger: EventLedger
    /// Delivery latency in nanoseconds, counted from when the event was due.
    private(set) var latencies = Histogram<UInt64>.latencies
    /// The readers' connections that were lost.
    private(set) var disconnections = DisconnectionCounts()
    /// The first error that ends the run.
    private(set) var failure: BenchError?

    /// The channel that events are sent to.
    let channel: ChannelName
    /// Identifies the run's events; 24 bits.
    let run: UInt32

    private let generator: LoadGenerator
    private var scanner: EventMarkerScanner

    /// Creates the readers, without connections.
    ///
    /// - Parameters:
    ///   - channel: Public or private.
    ///   - count: At least 1.
    ///   - publisherCount: The number of connections that publish to the channel.
    ///   - generator: Opens the connections.
    init(of channel: ChannelName, count: Int, publisherCount: Int, generator: LoadGenerator) {
        self.channel = channel
        self.generator = generator
        ramp = ConnectionRamp(count: count)
        ledger = EventLedger(publisherCount: publisherCount, readerCount: count)
        run = .random(in: 0..<1 << 24)
        scanner = EventMarkerScanner(run: run)
    }

    /// The number of open connections.
    var openCount: Int { ramp.connectedCount - disconnections.total }

    /// Opens more connections and shows the progress.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all subscriptions are acknowledged.
    /// - Throws: When a connection cannot be opened, or none was acknowledged within the stall timeout.
    func connect(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.connectClients(of: self, &ramp, at: now)
    }

    /// Creates the builder of requests for events to these readers.
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

    /// Returns the latencies since the last call, and resets them.
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
        // The run needs each reader: one that was never subscribed is a failure.
        guard disconnection.wasSubscribed else { return false }
        disconnections.count(disconnection)
        ledger.removeReader(client.index)
        return true
    }

    func clientFailed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
