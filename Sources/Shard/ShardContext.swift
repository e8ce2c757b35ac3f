package import Broker
package import Net
package import PusherProtocol

/// The shared context of one shard: its reactor, the settings, the apps, the links to the other shards, and the
/// observers.
///
/// Confined to its loop's thread, like everything that refers to it.
package final class ShardContext {
    package let reactor: Reactor
    package let settings: ServerSettings
    /// The archive of stored channels; `nil` if no channel is stored.
    package let archive: (any MessageArchive)?
    // Exclusive access to the fields that every connection or event needs is not checked: none of them calls back while
    // it changes.

    /// The apps that are served.
    @exclusivity(unchecked) package private(set) var registry: AppRegistry
    /// The links to the other shards.
    @exclusivity(unchecked) package var links: ShardLinks
    @exclusivity(unchecked) private var observers: BrokerObservers
    /// The kinds that an observer has requested; tested before an event is made.
    @exclusivity(unchecked) private var observedKinds: BrokerEventKinds = []
    /// Performs the requests of clients: the shard that owns the context, which outlives every connection.
    var connectionDelegate: any ConnectionDelegate {
        get {
            guard let delegate else { preconditionFailure("the context belongs to no shard") }
            return delegate
        }
        set { delegate = newValue }
    }
    // SAFETY: a shard closes all streams before it ends, so no connection outlives it.
    @exclusivity(unchecked) private unowned(unsafe) var delegate: (any ConnectionDelegate)?

    /// The names of clients' libraries.
    @exclusivity(unchecked) package var clientNames = ClientNames()

    // Counters for the metrics.

    /// The number of messages received from clients.
    @exclusivity(unchecked) var receivedCount = 0
    /// The number of events sequenced at homes on this shard.
    @exclusivity(unchecked) package var publishedCount = 0
    /// The number of frames sent to subscribers, of events and notices.
    @exclusivity(unchecked) package var deliveredCount = 0

    package init(
        reactor: Reactor,
        settings: ServerSettings,
        registry: AppRegistry,
        links: ShardLinks,
        observers: [any BrokerObserver] = [],
        archive: (any MessageArchive)? = nil
    ) {
        self.reactor = reactor
        self.archive = archive
        self.settings = settings
        partitionCount = settings.cluster?.partitionCount ?? links.count
        self.registry = registry
        self.links = links
        self.observers = BrokerObservers(observers)
        self.observers.update(apps: registry.observedIDs)
        observedKinds = self.observers.kinds
    }

    /// Whether the archive keeps a channel's messages.
    package func isStored(_ channel: ChannelName, of app: App) -> Bool {
        archive != nil && app.recovery.hasArchive
            && app.recovery.rule(of: channel).store == .archive
    }

    /// Whether the app of a channel keeps messages, as of the last reload.
    package func keepsMessages(at address: ChannelAddress) -> Bool {
        registry.apps[address.app]?.recovery.isEnabled == true
    }

    /// The first number of the first socket ID: node number × 2²³; 0 without a cluster.
    ///
    /// So no two nodes of a cluster assign the same ID.
    @exclusivity(unchecked) var socketIDBase: UInt64 = 0

    /// The shard of a connection of this broker; for other IDs, an arbitrary shard.
    package func shard(of socketID: SocketID) -> Int {
        Int((socketID.first &- socketIDBase) % UInt64(shardCount))
    }

    /// The home shard of a channel.
    ///
    /// In a cluster it is the home of the channel's partition, because each shard registers and follows whole
    /// partitions.
    package func home(of address: ChannelAddress) -> Int {
        address.home(among: partitionCount) % shardCount
    }

    /// The home shard of a user; in a cluster, that of the user's partition.
    func home(of user: UserAddress) -> Int { user.home(among: partitionCount) % shardCount }

    /// The home shard of a session; in a cluster, that of the session's partition.
    func home(of session: SessionAddress) -> Int {
        session.home(among: partitionCount) % shardCount
    }

    /// The number of parts into which channels, users and sessions are divided: partitions in a cluster, or shards.
    private let partitionCount: Int

    /// The number of this shard.
    package var shard: Int { links.shard }

    /// The number of shards, among which the homes of channels and users are spread.
    package var shardCount: Int { links.count }

    /// The loop's clock in milliseconds, the unit of the values in `Broker`.
    package var milliseconds: Int64 { reactor.now.nanoseconds / 1_000_000 }

    /// The milliseconds to add to ``milliseconds`` for the time since 1970; constant unless the calendar is set.
    package var calendarOffset: Int64 {
        calendar.update(calendar: reactor.unixMilliseconds, now: milliseconds)
    }
    private var calendar = CalendarOffset()

    /// Replaces the apps.
    func replaceApps(_ registry: AppRegistry) {
        self.registry = registry
        updateObservers()
    }

    /// Updates the kinds of events that the observers request.
    package func updateObservers() {
        observers.update(apps: registry.observedIDs)
        observedKinds = observers.kinds
    }

    // MARK: - Observers

    /// Whether an observer requests a kind of event.
    package func isObserved(_ kind: BrokerEventKinds) -> Bool { observedKinds.contains(kind) }

    /// Reports an event of an app's client to the observers.
    package func notify(
        _ kind: BrokerEventKinds,
        of app: AppID,
        _ event: @autoclosure () -> BrokerEvent
    ) {
        guard observedKinds.contains(kind) else { return }
        observers.notify(kind, of: app, event())
    }

    /// Reports an event of a channel to the observers.
    package func notify(
        _ kind: BrokerEventKinds,
        on address: ChannelAddress,
        _ event: @autoclosure () -> ChannelEvent
    ) {
        guard observedKinds.contains(kind) else { return }
        observers.notify(kind, on: address, event())
    }

    /// Reports a refusal to the observers, of an app if it is known; it is evaluated only if an observer requests it.
    package func refused(of app: AppID?, _ refusal: @autoclosure () -> Refusal) {
        guard observedKinds.contains(.refusals) else { return }
        observers.notify(.refusals, of: app, .refused(refusal()))
    }

    /// Reports that a limit was reached, with the effect if it differs from the limit's rule.
    ///
    /// `app` is given if the limit is one of an app, and the app is known.
    package func limitMet(_ limit: Limit, of app: AppID? = nil, consequence: String? = nil) {
        observers.notify(
            .limits,
            // A removed app has no observers, and may still have connections.
            of: app.flatMap { registry.apps[$0]?.id },
            .limitMet(limit, count: 1, consequence: consequence)
        )
    }
}

extension ShardContext {
    /// Reports that a connection was closed because no descriptor was left for it.
    package func ranOutOfDescriptors() {
        limitMet(
            .connections,
            consequence:
                "no descriptor is left, the connection is closed at once; raise the hard limit of "
                + "\(DescriptorLimit.current) (ulimit -Hn, LimitNOFILE= of systemd), or set "
                + "limits.connections_max"
        )
    }
}
