package import Broker
import Glibc
import HTTP1
package import HTTPServer
package import Net
package import PusherProtocol
package import Shard

/// A shard's core on its loop's thread: a turn enters the actor's isolation once and is synchronous.
package actor Shard: LoopResident {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }
    private let core: ShardCore
    private let site: HTTPSite
    /// The site of the console's own listener; `nil` without one.
    private var consoleSite: HTTPSite?
    private var listeners: [Listener] = []
    private var isStopping = false
    /// The requests that arrived at other loops and belong here; `nil` if there are no other loops.
    private let handovers: Mailbox<HTTPHandover>?

    /// Creates a shard that does not listen yet.
    ///
    /// - Parameters:
    ///   - loop: The loop on whose thread it runs.
    ///   - settings: The settings of the broker.
    ///   - registry: The apps.
    ///   - links: The links to the other shards.
    ///   - observers: The observers of the broker.
    ///   - archive: The archive of stored channels; `nil` without one.
    ///   - makeSharedHome: Creates its part in the cluster; `nil` for a broker alone.
    ///   - handovers: The requests that arrive at other loops and belong here.
    ///   - makeSite: Creates the site of its listeners.
    /// - Throws: The call that failed.
    package init(
        loop: EventLoop,
        settings: ServerSettings,
        registry: AppRegistry,
        links: ShardLinks,
        observers: [any BrokerObserver],
        archive: (any MessageArchive)?,
        makeSharedHome: (
            @Sendable (ChannelService, UserService, SessionService) -> any SharedHome
        )?,
        handovers: Mailbox<HTTPHandover>? = nil,
        makeSite: (ShardCore) -> HTTPSite
    ) throws(SystemError) {
        self.loop = loop
        self.handovers = handovers
        let context = ShardContext(
            reactor: try Reactor(loop: loop),
            settings: settings,
            registry: registry,
            links: links,
            observers: observers,
            archive: archive
        )
        core = ShardCore(context, makeSharedHome: makeSharedHome)
        core.watchLiveness()
        site = makeSite(core)
        core.deferredAnswers.deliver = { [weak self] id, response in
            await self?.complete(id, response)
        }
    }

    /// Sends an answer that was made outside the loop.
    private func complete(_ id: UInt64, _ response: Response) {
        core.deferredAnswers.complete(id, response)
    }

    /// Runs one turn of the core; returns `false` when the loop is to end.
    package func turn() -> Bool {
        guard !isStopping else { return false }
        receiveHandovers()
        core.turn()
        return true
    }

    /// Continues the requests that arrived at other loops and belong here.
    private func receiveHandovers() {
        guard let handovers else { return }
        for handover in handovers.drain() {
            site.receive(handover, limits: core.context.settings.streamLimits)
        }
    }

    /// Processes the messages of another shard on that shard's thread, and returns whether this shard's thread must
    /// continue.
    package func assist() -> Bool { isStopping || core.assist() }

    /// Checks that a listener without port sharing could listen on `address`; throws the error if not.
    package func checkIsFree(_ address: SocketAddress) throws(SystemError) {
        try core.context.reactor.listen(on: address, accept: site.accept).close()
    }

    /// Listens on `address`, or accepts from the inherited socket for it, with TLS if a context is passed.
    ///
    /// Returns the address, with the port that the kernel chose for port 0.
    ///
    /// - Throws: The call that failed; `ECANCELED` once the shard has stopped.
    package func listen(
        on address: SocketAddress,
        sharing: Bool,
        inherited: InheritedSockets,
        tls: TLSContext?
    ) throws(SystemError) -> SocketAddress {
        try open(site, on: address, sharing: sharing, inherited: inherited, tls: tls)
    }

    /// Listens only for the console on `address`.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - tls: The certificates; `nil` without TLS.
    ///   - makeSite: Creates the console's site, for the first of its addresses.
    /// - Returns: The address, with the port that the kernel chose for port 0.
    /// - Throws: The call that failed; `ECANCELED` once the shard has stopped.
    package func listenForConsole(
        on address: SocketAddress,
        tls: TLSContext?,
        makeSite: @Sendable (ShardCore) -> HTTPSite
    ) throws(SystemError) -> SocketAddress {
        let site = consoleSite ?? makeSite(core)
        let address = try open(site, on: address, sharing: false, tls: tls)
        consoleSite = site
        return address
    }

    private func open(
        _ site: HTTPSite,
        on address: SocketAddress,
        sharing: Bool,
        inherited: InheritedSockets = .none,
        tls: TLSContext?
    ) throws(SystemError) -> SocketAddress {
        guard !isStopping else { throw SystemError(call: "listen", code: ECANCELED) }
        let listener = try core.context.reactor.listen(
            on: address,
            reusePort: sharing,
            inherited: inherited,
            tls: tls,
            streamLimits: core.context.settings.streamLimits,
            hasCapacity: site.hasCapacity,
            refused: core.context.ranOutOfDescriptors,
            accept: site.accept
        )
        listeners.append(listener)
        return listener.address
    }

    /// Updates the kinds of events that the observers request.
    package func updateObservers() { core.context.updateObservers() }

    /// Whether an observer requests a kind of event.
    package func isObserved(_ kind: BrokerEventKinds) -> Bool { core.context.isObserved(kind) }

    /// Whether a channel has subscribers here, or its home is here and it has some elsewhere.
    package func hasSubscribers(of address: ChannelAddress) -> Bool {
        core.channels.table[address] != nil
    }

    /// Sends a message of the broker's own to this shard's subscribers of the channel, without counting it.
    package func send(_ message: ChannelMessage, to address: ChannelAddress) {
        let deliveredCount = core.context.deliveredCount
        core.channels.fanOut(message, at: address, except: nil)
        core.context.deliveredCount = deliveredCount
    }

    /// Lists the connections of some pages of the table; see ``Connections/portion(of:from:limit:)``.
    package func connections(
        of query: ConnectionQuery,
        from page: Int,
        limit: Int
    ) -> ConnectionPortion {
        core.connections.portion(of: query, from: page, limit: limit)
    }

    /// Closes a client so that it reconnects at once (4200); returns whether it is connected here.
    package func close(_ socketID: SocketID) -> Bool {
        guard let connection = core.connections[socketID], !connection.isClosing else {
            return false
        }
        connection.close(
            .reconnectImmediately,
            message: "The connection was closed in the console"
        )
        return true
    }

    /// The use of the limits of this shard.
    package var usage: ShardUsage {
        var usage = core.usage
        usage.handshakes = site.connectionCount
        return usage
    }

    /// Continues the streams and keys of the archive whose home is this shard.
    package func restore(_ contents: ArchiveContents) { core.restore(contents) }

    /// The state that is only in memory, for the next start.
    package var spooled: SpooledState { core.spooled }

    /// Continues what an earlier run had in memory.
    package func restore(_ spooled: SpooledState) { core.restore(spooled) }

    /// The sessions of stock clients whose home is this shard, for the next start.
    package var storedSessions: StoredSessions { core.storedSessions }

    /// Continues sessions of an earlier run.
    package func restore(_ stored: StoredSessions) { core.restore(stored) }

    /// Connects to the cluster.
    package func joinCluster() { core.joinCluster() }

    /// Removes the node from the cluster when it stops.
    package func leaveCluster() { core.leaveCluster() }

    /// Whether nothing of the node is left in the cluster.
    package var hasLeftCluster: Bool { core.hasLeftCluster }

    /// Uses the socket IDs of a node; called before the first client connects.
    package func use(socketIDBase: UInt64) { core.use(socketIDBase: socketIDBase) }

    /// Replaces the apps, unless the registry is older than the present one.
    package func replaceApps(_ registry: AppRegistry) { core.replaceApps(registry) }

    /// Closes up to `count` clients whose app was removed or disabled; returns whether any are left.
    package func closeOrphanedConnections(upTo count: Int) -> Bool {
        core.closeOrphanedConnections(upTo: count)
    }

    /// The number of clients connected here.
    package var connectionCount: Int { core.connections.count }

    /// Replaces the certificates for new connections; existing connections and handshakes keep theirs.
    package func present(_ certificates: TLSContext) {
        for listener in listeners where listener.isSecure { listener.updateTLS(certificates) }
    }

    /// Makes `/health` answer 503, so that load balancers stop sending clients.
    package func announceStop() {
        core.stage = .leaving
        core.resignFromCluster()
    }

    /// The number of streams of this shard, of clients and HTTP connections.
    package var streamCount: Int { core.context.reactor.streamCount }

    /// The memory of unprocessed received data, in bytes.
    var inboundByteCount: Int { core.context.reactor.inbound.byteCount }

    /// The gauges and counters of the shard.
    package var reading: ShardReading {
        var reading = core.reading
        reading.handshakes = site.connectionCount
        return reading
    }

    /// The reading, the time at which the loop took the request, and the longest of its ``SendTimes`` since the last
    /// reading.
    package func takeTimedReading() -> (ShardReading, taken: MonotonicTime, sendTime: Duration) {
        (reading, .current, core.sendTimes.takeLongest())
    }

    /// Closes the listeners: HTTP connections end after their last response, clients stay connected.
    package func closeListeners() {
        if core.stage != .draining { core.keepBlankStreams() }
        core.stage = .draining
        for listener in listeners { listener.close() }
        listeners = []
        site.finish()
        consoleSite?.finish()
    }

    /// Asks the clients with session tokens to confirm what they have got.
    package func askForConfirmations() { core.askForConfirmations() }

    /// Whether some of them have not confirmed it.
    package var awaitsConfirmations: Bool { core.connections.haveUnconfirmed }

    /// Closes up to `count` clients; returns the number closed, and whether any client or HTTP connection is still
    /// open.
    ///
    /// The connections to Redis stay open, because the node leaves the cluster over them after its clients.
    package func drain(upTo count: Int) -> (closedCount: Int, isAnyOpen: Bool) {
        let closedCount = core.drain(upTo: count)
        let requestCount = site.connectionCount + (consoleSite?.connectionCount ?? 0)
        return (closedCount, core.connections.count + requestCount > 0)
    }

    /// Drops all remaining work and ends the loop.
    package func stop() {
        closeListeners()
        core.shutDown()
        isStopping = true
    }
}
