import Broker
package import Metrics
import PusherProtocol

/// Counts connections, and the deliveries that were dropped with the queues of slow readers.
///
/// Both changes of the number of connections are counted, because a gauge does not show clients that reconnect between
/// two scrapes.
package final class ConnectionCounters: Sendable {
    private let opened: Counter
    private let closed: Counter
    private let dropped: Counter
    private let droppedBytes: Counter

    /// Creates the counters, at zero.
    package init(_ factory: any MetricsFactory) {
        opened = Counter(label: BrokerMetric.connectionsOpened.name, factory: factory)
        closed = Counter(label: BrokerMetric.connectionsClosed.name, factory: factory)
        dropped = Counter(label: BrokerMetric.queuesDropped.name, factory: factory)
        droppedBytes = Counter(label: BrokerMetric.queuedBytesDropped.name, factory: factory)
    }
}

extension ConnectionCounters: BrokerObserver {
    func observedKinds(of app: AppID?) -> BrokerEventKinds {
        app == nil ? [] : [.connections, .droppedDeliveries]
    }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        switch event {
        case .connected: opened.increment()
        case .disconnected: closed.increment()
        case .deliveriesDropped(_, let byteCount):
            dropped.increment()
            droppedBytes.increment(by: byteCount)
        case .admitted, .signedIn, .channel, .gapTold, .limitMet, .refused, .frame: break
        }
    }
}
