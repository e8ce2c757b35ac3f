package import Broker
import Net
package import PusherProtocol

/// The clients connected to one shard, with their addresses, deadlines and memory budgets.
package final class Connections {
    let context: ShardContext
    @exclusivity(unchecked) private var table: ConnectionTable
    /// The addresses of connections that count towards the limit per address.
    @exclusivity(unchecked) private var addresses: [SocketID: ClientAddress] = [:]
    /// The addresses of clients behind trusted proxies, for the console; empty without one.
    private var shownAddresses: [SocketID: String] = [:]
    /// The timers of connections that are not authorized yet.
    private var authorizationTimers: [SocketID: TimerID] = [:]
    /// The connections to close because their app was removed or disabled.
    private var orphanedConnections: [Connection] = []
    /// The memory budgets of the apps whose clients have queued data.
    @exclusivity(unchecked) private var queueBudgets: [AppID: MemoryBudget] = [:]

    init(_ context: ShardContext, random: RandomPool) {
        self.context = context
        table = ConnectionTable(
            shard: context.shard,
            shardCount: context.shardCount,
            random: random
        )
    }

    /// Uses the socket IDs of a node of a cluster; called before the first client connects.
    func use(socketIDBase: UInt64) { table.use(base: socketIDBase) }

    /// The number of clients.
    package var count: Int { table.count }

    /// The open connection of this shard with this socket ID.
    package subscript(id: SocketID) -> Connection? { table[id] }

    /// Creates the socket ID of the connection that is added next.
    package func makeSocketID() -> SocketID { table.makeSocketID() }

    /// Adds a connection under its socket ID.
    ///
    /// `address` counts towards the limit per address; it is `nil` if none does. `shownAddress` is shown in place of
    /// the peer's; it is `nil` if they are the same, or it is never shown.
    package func add(
        _ connection: Connection,
        from address: ClientAddress?,
        shownAddress: String? = nil
    ) {
        table.insert(connection, receivedAt: context.reactor.seconds)
        if let shownAddress { shownAddresses[connection.socketID] = shownAddress }
        if let address { addresses[connection.socketID] = address }
        if !connection.countsTowardsQuota { startAuthorizationTimer(of: connection) }
        context.notify(.connections, of: connection.app.id, .connected(connection.socketID))
    }

    /// Removes a connection whose stream has ended.
    func remove(_ connection: Connection) {
        table.remove(connection.socketID)
        let address =
            addresses.isEmpty ? nil : addresses.removeValue(forKey: connection.socketID)
        if !shownAddresses.isEmpty { shownAddresses[connection.socketID] = nil }
        context.settings.admissionControl.release(address)
        if connection.countsTowardsQuota {
            connection.app.quota.giveBack()
        } else {
            cancelAuthorizationTimer(of: connection)
        }
        context.notify(.connections, of: connection.app.id, .disconnected(connection.socketID))
    }

    /// Records that something was received from a client.
    func received(_ connection: Connection) {
        table.received(from: connection.socketID, at: context.reactor.seconds)
    }

    /// Records that a client has answered a `pusher:ping`.
    func receivedPong(_ connection: Connection) {
        table.changeLiveness(of: connection.socketID) { $0.receivedPong() }
    }

    /// Records that a client has signed in or subscribes to a presence channel.
    func becamePresent(_ connection: Connection) {
        let timeout = connection.app.features.presenceActivityTimeout
        table.changeLiveness(of: connection.socketID) { $0.becamePresent(timeout: timeout) }
    }

    /// Records that a connection ends without a close frame of either side.
    func lost(_ connection: Connection) {
        guard let ends = context.settings.silentEnds,
            let silence = table.silence(of: connection.socketID, at: context.reactor.seconds)
        else { return }
        ends.record(silence: silence)
    }

    /// Pings clients that have been silent for too long, and closes those that do not answer.
    func checkLiveness() {
        let now = context.reactor.seconds
        for page in table.pageNumbers {
            let actions = table.checkLiveness(page: page, at: now, context.settings.liveness)
            for (connection, action) in actions { connection.perform(action) }
        }
    }

    /// The pages of the table, for ``forEachConnection(ofPage:_:)``.
    var pageNumbers: Range<Int> { table.pageNumbers }

    /// Calls `body` with each connection of a page of the table, and the seconds since something was received from it.
    func forEachConnection(ofPage page: Int, _ body: (Connection, Int) -> Void) {
        table.forEach(ofPage: page, at: context.reactor.seconds, body)
    }

    /// The client's own address behind a trusted proxy, or else the peer's.
    func address(of connection: Connection) -> String? {
        shownAddresses[connection.socketID] ?? connection.stream.remoteAddress().map { "\($0)" }
    }

    /// Whether some clients with session tokens have not confirmed everything that they got.
    package var haveUnconfirmed: Bool { table.all.contains { $0.hasUnconfirmed } }

    /// Closes up to `count` connections with the code that asks clients to reconnect at once (4200).
    ///
    /// - Returns: The number of connections closed.
    func drain(upTo count: Int) -> Int {
        let open = table.open(upTo: count)
        for connection in open {
            connection.close(.reconnectImmediately, message: "The broker is stopping")
        }
        return open.count
    }

    // MARK: - Authorized connections

    /// The number of connections that have to be authorized before their deadline (Pusher documentation, "Authorized
    /// connections").
    ///
    /// They do not count towards the app's quota, so that connections without authorization cannot keep users out.
    var unauthorizedCount: Int { authorizationTimers.count }

    private func startAuthorizationTimer(of connection: Connection) {
        guard let seconds = connection.app.features.authorizationDeadline else { return }
        let timer = context.reactor.schedule(after: .seconds(seconds), connection)
        authorizationTimers[connection.socketID] = timer
    }

    /// Cancels the deadline of a connection that is authorized, or has closed.
    func cancelAuthorizationTimer(of connection: Connection) {
        guard let timer = authorizationTimers.removeValue(forKey: connection.socketID) else {
            return
        }
        context.reactor.cancel(timer)
    }

    // MARK: - Apps

    /// Replaces the apps of the connections.
    ///
    /// Those whose app was removed or disabled are closed by ``closeOrphanedConnections(upTo:)``.
    func replaceApps(_ registry: AppRegistry) {
        replaceQueueBudgets(registry)
        orphanedConnections = []
        // The lookup is repeated only when the app changes, because most connections have one app.
        var last: (old: App, new: App?)?
        for connection in table.all where !connection.isClosing {
            if last?.old !== connection.app {
                last = (connection.app, registry.apps[connection.app.id])
            }
            if let app = last?.new, app !== connection.app { connection.replaceApp(app) }
            if last?.new?.isEnabled != true { orphanedConnections.append(connection) }
        }
    }

    /// The number of connections to close because their app was removed or disabled.
    var orphanedCount: Int { orphanedConnections.count }

    /// Closes up to `count` connections whose app was removed or disabled.
    ///
    /// - Returns: Whether any are left.
    func closeOrphanedConnections(upTo count: Int) -> Bool {
        for connection in orphanedConnections.suffix(count) {
            let isKnown = context.registry.apps[connection.app.id] != nil
            let code = isKnown ? PusherCode.appDisabled : .appDoesNotExist
            connection.close(code, message: code.message)
        }
        orphanedConnections.removeLast(min(count, orphanedConnections.count))
        return !orphanedConnections.isEmpty
    }

    // MARK: - Memory budgets

    // Each shard has an equal share of the memory for all apps and for each app, and checks only its own queues. Above
    // three quarters it refuses connections (4100); above the limit, the reactor closes the connections with the
    // longest queues.

    /// The memory budget that the queues of an app's clients share on this shard.
    func queueBudget(of app: App) -> MemoryBudget {
        if let budget = queueBudgets[app.id] { return budget }
        let budget = MemoryBudget(byteCountMax: queuedBytesMax(of: app))
        queueBudgets[app.id] = budget
        return budget
    }

    /// The size of the queues of an app's clients on this shard, in bytes of memory.
    func queuedByteCount(of app: AppID) -> Int { queueBudgets[app]?.byteCount ?? 0 }

    /// Refuses a connection while a budget is nearly used up.
    package func checkQueues(of app: App) throws(ConnectionRefusal) {
        if context.reactor.queueBudget.isNearlyFull {
            throw ConnectionRefusal(.overCapacity, meeting: .queuedBytesTotal)
        }
        if !queueBudgets.isEmpty, queueBudgets[app.id]?.isNearlyFull == true {
            throw ConnectionRefusal(.overCapacity, meeting: .appQueuedBytes)
        }
    }

    private func replaceQueueBudgets(_ registry: AppRegistry) {
        queueBudgets = queueBudgets.filter { id, budget in
            guard let app = registry.apps[id] else { return budget.byteCount > 0 }
            budget.byteCountMax = queuedBytesMax(of: app)
            return true
        }
    }

    private func queuedBytesMax(of app: App) -> Int {
        app.limits.queuedBytesMax.map { $0 / context.shardCount } ?? .max
    }
}
