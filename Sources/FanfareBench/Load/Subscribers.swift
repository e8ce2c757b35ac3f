import Histogram
import Net
import PusherProtocol

/// The subscribers of one or many channels: connects them and checks what each of them receives.
final class Subscribers: Crowd {
    /// Who is in.
    private(set) var admission: Admission
    /// What has been sent and received.
    private(set) var tally: Tally
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

    private let generator: Generator
    private var scanner: MarkerScanner

    /// An audience that nobody belongs to yet.
    ///
    /// - Parameters:
    ///   - channels: Public or private, at least one.
    ///   - subscribersPerChannel: At least 1.
    ///   - generator: Makes the connections.
    init(channels: [ChannelName], subscribersPerChannel: Int, generator: Generator) {
        self.channels = channels
        self.generator = generator
        let count = channels.count * subscribersPerChannel
        admission = Admission(count: count)
        tally = Tally(subscriberCount: count, channelCount: channels.count)
        run = .random(in: 0..<1 << 24)
        scanner = MarkerScanner(run: run)
    }

    /// Lets more subscribers in, and shows how many are.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all subscriptions are acknowledged.
    /// - Throws: Why there can be no connection, or that none has been let in for too long.
    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.assemble(self, &admission, at: now)
    }

    /// Makes the data of a channel's next event, and counts it as sent.
    ///
    /// - Parameters:
    ///   - channel: The channel's index.
    ///   - length: In bytes, at least ``Marker/length``.
    ///   - due: When it was due.
    /// - Returns: Bytes that mean themselves in a JSON string.
    func nextData(on channel: Int, length: Int, due: MonotonicTime) -> [UInt8] {
        Marker(run: run, sequence: tally.send(on: channel), sentAt: due.nanoseconds)
            .data(length: length)
    }

    /// Hands over the latencies since the last time, and begins with none.
    func takeLatencies() -> Histogram<UInt64> {
        let taken = latencies
        latencies = .latencies
        return taken
    }

    // MARK: Crowd

    func greeted(_ device: Device, as socketID: SocketID) {
        let channel = channels[device.index % channels.count]
        device.subscribe(generator.subject.subscription(to: channel, of: socketID))
    }

    func acknowledged(_ device: Device, at now: MonotonicTime) { admission.admit(device) }

    func heard(_ text: Span<UInt8>, by device: Device, at now: MonotonicTime) -> Bool {
        guard let marker = scanner.find(in: text) else { return false }
        if tally.receive(marker.sequence, by: device.index) {
            latencies.record(from: marker.sentAt, to: now)
            lastDeliveryAt = now
        }
        return true
    }

    func failed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
