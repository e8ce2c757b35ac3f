import Histogram
import Net
import PusherProtocol

/// The subscribers of one channel that several connections publish to; checks what each of them receives.
final class OverloadReaders: Crowd {
    /// Which subscribers are connected.
    private(set) var admission: Admission
    /// What was sent, answered and received.
    var ledger: EventLedger
    /// Nanoseconds from when an event was due to each of its deliveries.
    private(set) var latencies = Histogram<UInt64>.latencies
    /// How the server ended connections that it should have kept.
    private(set) var partings = Partings()
    /// The first thing that makes a run impossible.
    private(set) var failure: BenchError?

    /// Where the events go.
    let channel: ChannelName
    /// Tells its events from all others; 24 bits.
    let run: UInt32

    private let generator: Generator
    private var scanner: MarkerScanner

    /// Readers that have yet to connect.
    ///
    /// - Parameters:
    ///   - channel: Public or private.
    ///   - count: At least 1.
    ///   - publisherCount: The number of connections that publish to the channel.
    ///   - generator: Makes the connections.
    init(of channel: ChannelName, count: Int, publisherCount: Int, generator: Generator) {
        self.channel = channel
        self.generator = generator
        admission = Admission(count: count)
        ledger = EventLedger(publisherCount: publisherCount, readerCount: count)
        run = .random(in: 0..<1 << 24)
        scanner = MarkerScanner(run: run)
    }

    /// The number of readers whose connections stand.
    var openCount: Int { admission.admittedCount - partings.total }

    /// Connects more readers, and shows how many are subscribed.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all subscriptions are acknowledged.
    /// - Throws: Why there can be no connection, or that none was acknowledged for too long.
    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.assemble(self, &admission, at: now)
    }

    /// Returns the latencies since the last call, and begins anew.
    func takeLatencies() -> Histogram<UInt64> {
        let taken = latencies
        latencies = .latencies
        return taken
    }

    // MARK: Crowd

    func greeted(_ device: Device, as socketID: SocketID) {
        device.subscribe(generator.subject.subscription(to: channel, of: socketID))
    }

    func acknowledged(_ device: Device, at now: MonotonicTime) { admission.admit(device) }

    func heard(_ text: Span<UInt8>, by device: Device, at now: MonotonicTime) -> Bool {
        guard let marker = scanner.find(in: text) else { return false }
        if ledger.receive(marker.sequence, by: device.index) {
            latencies.record(from: marker.sentAt, to: now)
        }
        return true
    }

    func parted(_ device: Device, _ parting: Parting) -> Bool {
        // One that was never subscribed is a failure: the run needs it.
        guard parting.wasSubscribed else { return false }
        partings.count(parting)
        ledger.depart(device.index)
        return true
    }

    func failed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
