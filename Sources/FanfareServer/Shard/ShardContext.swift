package import Broker
package import Net
import PusherProtocol

/// What all parts of one shard use: its reactor, the settings, the apps, the links to the other shards, and the observers.
///
/// Confined to its loop's thread, as is everything that holds it.
package final class ShardContext {
    package let reactor: Reactor
    let settings: ServerSettings
    // Access to what every connection or event needs is not checked for overlaps: none of it calls back while it changes.

    /// The apps that are served.
    @exclusivity(unchecked) private(set) var registry: AppRegistry
    /// The links to the other shards.
    @exclusivity(unchecked) var links: ShardLinks
    @exclusivity(unchecked) private var observers: BrokerObservers
    /// The kinds that an observer has asked for: the one thing that is looked at while there is nothing to report.
    @exclusivity(unchecked) private var observedKinds: BrokerEventKinds = []
    /// Performs what clients ask for: the shard that owns the context, which outlives every connection.
    var connectionDelegate: any ConnectionDelegate {
        get {
            guard let delegate else { preconditionFailure("the context belongs to no shard") }
            return delegate
        }
        set { delegate = newValue }
    }
    // SAFETY: a shard closes all streams before it ends, so no connection outlives it.
    @exclusivity(unchecked) private unowned(unsafe) var delegate: (any ConnectionDelegate)?

    // Counters for the metrics.

    /// Messages received from clients.
    @exclusivity(unchecked) var receivedCount = 0
    /// Events that have their place in the order of a channel whose home is here.
    @exclusivity(unchecked) var publishedCount = 0
    /// Frames for one subscriber each, events and notices alike.
    @exclusivity(unchecked) var deliveredCount = 0

    package init(
        reactor: Reactor,
        settings: ServerSettings,
        registry: AppRegistry,
        links: ShardLinks,
        observers: [any BrokerObserver] = []
    ) {
        self.reactor = reactor
        self.settings = settings
        self.registry = registry
        self.links = links
        self.observers = BrokerObservers(observers)
        self.observers.update(apps: registry.ids)
        observedKinds = self.observers.kinds
    }

    /// The number of this shard.
    var shard: Int { links.shard }

    /// The number of shards, among which the homes of channels and users are spread.
    var shardCount: Int { links.count }

    /// The loop's clock in milliseconds, the unit of the values in `Broker`.
    var milliseconds: Int64 { reactor.now.nanoseconds / 1_000_000 }

    /// Replaces the apps.
    func replaceApps(_ registry: AppRegistry) {
        self.registry = registry
        observers.update(apps: registry.ids)
        observedKinds = observers.kinds
    }

    // MARK: - Observers

    /// Whether an observer has asked for a kind of event.
    func isObserved(_ kind: BrokerEventKinds) -> Bool { observedKinds.contains(kind) }

    /// Reports an event of an app's client to the observers.
    func notify(
        _ kind: BrokerEventKinds,
        of app: AppID,
        _ event: @autoclosure () -> BrokerEvent
    ) {
        guard observedKinds.contains(kind) else { return }
        observers.notify(kind, of: app, event())
    }

    /// Reports an event of a channel to the observers.
    func notify(
        _ kind: BrokerEventKinds,
        on address: ChannelAddress,
        _ event: @autoclosure () -> ChannelEvent
    ) {
        guard observedKinds.contains(kind) else { return }
        observers.notify(kind, on: address, event())
    }

    /// Reports that a limit was met.
    ///
    /// - Parameters:
    ///   - limit: The limit.
    ///   - consequence: What happens to the peer, if that differs from the limit's rule.
    func limitMet(_ limit: Limit, consequence: String? = nil) {
        observers.notify(
            .limits,
            of: nil,
            .limitMet(limit, count: 1, consequence: consequence)
        )
    }
}

extension ShardContext {
    /// Reports that a connection was closed because no descriptor was left for it.
    func ranOutOfDescriptors() {
        limitMet(
            .connections,
            consequence:
                "no descriptor is left, the connection is closed at once; raise the hard limit "
                + "of \(DescriptorLimit.current) (ulimit -Hn, LimitNOFILE= of systemd), or set a number"
        )
    }
}

/// What one shard has at the moment, and what it has counted since the start.
struct ShardReading: Sendable {
    /// Clients.
    var connections = 0
    /// Connections that are not clients yet, or carry HTTP alone.
    var handshakes = 0
    /// Channels with subscribers, whose home is the shard.
    var channels = 0
    /// Bytes that wait for readers whose socket buffers are full.
    var queuedBytes = 0
    /// Bytes that were received and are not processed yet.
    var inboundBytes = 0
    /// Messages received from clients.
    var received = 0
    /// Events of backends and clients on channels whose home is the shard.
    var published = 0
    /// Frames for one subscriber each: an event for a thousand subscribers is a thousand.
    var delivered = 0
}
