import Histogram
import Net
import PusherProtocol

/// What subscribers have in common whose deliveries are checked.
///
/// Each subclass conforms to the delegate by itself, so that the call for a message is direct.
class CheckedSubscribers {
    final var ramp: ConnectionRamp
    /// Delivery latency in nanoseconds, counted from when the event was due.
    final fileprivate(set) var latencies = Histogram<UInt64>.latencies

    /// The channels that events are sent to; subscriber `i` of `n` channels is subscribed to channel `i % n`.
    let channels: [ChannelName]
    /// Identifies the run's events; 24 bits.
    let run = UInt32.random(in: 0..<1 << 24)
    let generator: LoadGenerator
    let tokens: RecoveryTokens?

    private let recovery: Recovery
    final fileprivate var scanner: EventMarkerScanner

    fileprivate init(
        of channels: [ChannelName],
        count: Int,
        recovery: Recovery,
        _ generator: LoadGenerator
    ) {
        self.channels = channels
        self.generator = generator
        self.recovery = recovery
        tokens = RecoveryTokens(recovery, unixTime: generator.reactor.unixTime)
        ramp = ConnectionRamp(count: count)
        scanner = EventMarkerScanner(run: run)
    }

    /// A publisher of events to these subscribers.
    final func publisher(dataLength: Int, policy: EventPublisher.FailurePolicy) -> EventPublisher {
        EventPublisher(to: channels, run: run, dataLength: dataLength, policy: policy, generator)
    }

    final func takeLatencies() -> Histogram<UInt64> {
        let taken = latencies
        latencies = .latencies
        return taken
    }

    final func clientConnected(_ client: BenchClient) {
        let position = recovery == .position ? PositionRequest() : nil
        client.subscribe(to: channels[client.index % channels.count], from: position)
    }

    final func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        ramp.markConnected(client)
    }
}

/// Subscribers that receive each event of their channel once and in order.
final class Subscribers: CheckedSubscribers, RampedClients {
    var tracker: DeliveryTracker
    private(set) var lastDeliveryAt: MonotonicTime?

    init(
        of channels: [ChannelName],
        each count: Int,
        recovery: Recovery = .none,
        _ generator: LoadGenerator
    ) {
        let total = channels.count * count
        tracker = DeliveryTracker(subscriberCount: total, channelCount: channels.count)
        super.init(of: channels, count: total, recovery: recovery, generator)
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
}

/// Subscribers of a channel that several connections publish to, whose events the server may refuse.
final class OverloadReaders: CheckedSubscribers, RampedClients {
    var ledger: EventLedger
    /// The readers' connections that were lost.
    private(set) var disconnections = DisconnectionCounts()

    init(of channel: ChannelName, count: Int, publisherCount: Int, _ generator: LoadGenerator) {
        ledger = EventLedger(publisherCount: publisherCount, readerCount: count)
        super.init(of: [channel], count: count, recovery: .none, generator)
    }

    var openCount: Int { ramp.connectedCount - disconnections.total }

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
}
