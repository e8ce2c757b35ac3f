import Broker
import Glibc
import HTTPServer
import Net

/// A core on its loop's thread: isolation is entered once a turn and stays synchronous until its end.
actor Shard: LoopResident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let core: ShardCore
    private let site: HTTPSite
    private var listeners: [Listener] = []
    private var isStopping = false

    init(
        loop: EventLoop,
        settings: ServerSettings,
        registry: AppRegistry,
        links: ShardLinks,
        observers: [any BrokerObserver]
    ) throws(SystemError) {
        self.loop = loop
        let context = ShardContext(
            reactor: try Reactor(loop: loop),
            settings: settings,
            registry: registry,
            links: links,
            observers: observers
        )
        core = ShardCore(context)
        core.watchLiveness()
        site = core.makeSite()
    }

    /// One turn of the core, unless the loop is to end.
    func turn() -> Bool {
        guard !isStopping else { return false }
        core.turn()
        return true
    }

    /// What another shard sent, handled on that shard's thread.
    func assist() -> Bool { isStopping || core.assist() }

    /// Throws what keeps a listener that shares its port with nobody from `address`.
    func checkIsFree(_ address: SocketAddress) throws(SystemError) {
        try core.context.reactor.listen(on: address, accept: site.accept).close()
    }

    /// Listens on `address`, behind TLS when a context is given.
    ///
    /// The address that is returned has the port that the kernel chose where 0 was asked for.
    ///
    /// - Throws: The call that failed; `ECANCELED` once the shard has stopped.
    func listen(
        on address: SocketAddress,
        sharing: Bool,
        tls: TLSContext?
    ) throws(SystemError) -> SocketAddress {
        guard !isStopping else { throw SystemError(call: "listen", code: ECANCELED) }
        let listener = try core.context.reactor.listen(
            on: address,
            reusePort: sharing,
            tls: tls,
            streamLimits: core.context.settings.streamLimits,
            hasCapacity: site.hasCapacity,
            refused: core.context.ranOutOfDescriptors,
            accept: site.accept
        )
        listeners.append(listener)
        return listener.address
    }

    /// Serves these apps from here on, unless it serves later ones already.
    func replaceApps(_ registry: AppRegistry) { core.replaceApps(registry) }

    /// Closes up to `count` of the clients whose app is not served any more; returns whether there are others.
    func closeOrphanedConnections(upTo count: Int) -> Bool {
        core.closeOrphanedConnections(upTo: count)
    }

    /// The number of clients connected here.
    var connectionCount: Int { core.connections.count }

    /// Presents other certificates to new connections; those that are open, or in their handshake, stay as they are.
    func present(_ certificates: TLSContext) {
        for listener in listeners where listener.isSecure { listener.updateTLS(certificates) }
    }

    /// Lets load balancers know that the broker is about to stop.
    func giveNotice() { core.stage = .leaving }

    /// The number of streams here: clients, HTTP connections, and those that are neither yet or no longer.
    var streamCount: Int { core.context.reactor.streamCount }

    /// Bytes of memory that are held for what has come in and is not dealt with yet.
    var inboundByteCount: Int { core.context.reactor.inbound.byteCount }

    /// What the shard has, and has counted.
    var reading: ShardReading {
        var reading = core.reading
        reading.handshakes = site.connectionCount
        return reading
    }

    /// Accepts nobody from here on; HTTP connections end with their last answer, clients stay.
    func closeListeners() {
        core.stage = .draining
        for listener in listeners { listener.close() }
        listeners = []
        site.finish()
    }

    /// Closes up to `count` clients; returns how many there were to close, and whether any stream is still open.
    func drain(upTo count: Int) -> (closedCount: Int, isAnyOpen: Bool) {
        let closedCount = core.drain(upTo: count)
        return (closedCount, core.context.reactor.streamCount > 0)
    }

    /// Drops whatever is left and ends the loop.
    func stop() {
        closeListeners()
        core.shutDown()
        isStopping = true
    }
}
