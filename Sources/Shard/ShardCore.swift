package import Broker
package import Net
import PusherProtocol

/// The state and logic of one shard: its loop's connections, its channels and users, and the links to the other shards.
///
/// Confined to its loop's thread; everything in it is synchronous.
package final class ShardCore: TimerTarget {
    package let context: ShardContext
    package let connections: Connections
    package let channels: ChannelService
    package let users: UserService
    let sessions: SessionService
    package let queries: ScatterGather
    package let listings: ChannelListings
    package let deliveries: DeliverySearches
    /// The requests whose answers are made outside the loop.
    package let deferredAnswers = DeferredAnswers()
    /// Decides about the channels of a standalone broker with an archive; `nil` without one.
    private let stored: StoredChannels?
    /// The shard's part in the cluster; `nil` for a standalone broker.
    let cluster: (any SharedHome)?
    /// The connections with a partially received message.
    let incompleteMessages: IncompleteMessages
    private var memoryTrim = MemoryTrim()
    @exclusivity(unchecked) package var sendTimes = SendTimes()
    /// The stage of the broker's shutdown.
    package var stage = Stage.serving

    /// Creates a shard without connections.
    ///
    /// - Parameters:
    ///   - context: What it shares with its parts.
    ///   - random: Random numbers for socket IDs.
    ///   - makeSharedHome: Creates the shard's part in the cluster; `nil` for a broker alone.
    package init(
        _ context: ShardContext,
        random: RandomPool = RandomPool(),
        makeSharedHome: SharedHomeMaker? = nil
    ) {
        self.context = context
        connections = Connections(context, random: random)
        channels = ChannelService(context, connections)
        users = UserService(context, connections)
        sessions = SessionService(context, connections)
        queries = ScatterGather(context, channels, users)
        listings = ChannelListings(context, channels)
        deliveries = DeliverySearches(context, channels.records)
        incompleteMessages = IncompleteMessages(context)
        cluster = makeSharedHome?(channels, users, sessions)
        stored = context.archive.map { [channels] in StoredChannels(channels, $0) }
        let local = stored as (any ChannelAuthority)? ?? LocalChannels(channels)
        channels.authority = cluster?.channelAuthority ?? local
        if let cluster {
            users.authority = cluster.userAuthority
            sessions.authority = cluster.sessionAuthority
        }
        context.connectionDelegate = self
        let (reactor, settings) = (context.reactor, context.settings)
        reactor.queueBudget.byteCountMax = settings.heldBytesMax
        reactor.inbound.byteCountMax = settings.inboundBytesMax
        reactor.batchLengthMax = min(
            reactor.batchLengthMax,
            settings.streamLimits.queuedBytesMax / 4
        )
    }

    // MARK: - The turn

    /// Runs one turn: reads sockets, then the messages of the other shards, and writes at the end.
    ///
    /// - Parameter limit: The maximum wait for events; `nil` for no limit.
    package func turn(waitingAtMost limit: Duration? = nil) {
        context.reactor.poll(atMost: hasWork ? .zero : limit)
        receiveMessages()
        context.reactor.relieveTargets()
        listings.advance()
        deliveries.advance()
        channels.advanceLeaves()
        cluster?.advance()
        channels.sendWaitingRequests()
        channels.confirmations.askBehindGrants()
        channels.authority.dispatch()
        // Before this shard's own fan-out, so that the other shards start theirs at the same time.
        context.links.dispatch(assists: context.reactor.wasIdle)
        endTurn()
    }

    /// Writes to streams and groups, and sends the resulting messages to the other shards.
    private func endTurn() {
        context.reactor.flush()
        context.reactor.relieveTargets()
        channels.throttle.turnEnded(at: context.milliseconds) { [connections] in
            connections[$0]?.hasQueuedBytes != true
        }
        // Messages that have waited for subscribers.
        if channels.authority.dispatch() { context.reactor.flush() }
        context.links.dispatch()
        sendTimes.turnEnded(
            begunAt: context.reactor.now,
            publishedCount: context.publishedCount
        )
    }

    /// Whether there is work that is done in portions, one each turn.
    package var hasWork: Bool {
        listings.areReady || deliveries.areReady || channels.leavingCount > 0
            || channels.throttle.isReady || cluster?.hasWork == true
    }

    /// The maximum number of sends that another shard's thread makes for this one.
    private static var assistedSendsMax: Int { 16 }

    /// Processes the messages of another shard on that shard's thread, while this shard's thread sleeps.
    ///
    /// - Returns: Whether this shard's thread has to continue.
    package func assist() -> Bool {
        context.reactor.beginAssisted()
        receiveMessages()
        context.reactor.relieveTargets()
        channels.confirmations.askBehindGrants()
        channels.authority.dispatch()
        context.links.dispatch()
        guard context.reactor.groupSendCount <= Self.assistedSendsMax else { return true }
        endTurn()
        return hasWork || context.reactor.needsThread
    }

    // MARK: - Messages of other shards

    private func receiveMessages() {
        for message in context.links.read() { receive(message) }
    }

    private func receive(_ message: ShardMessage) {
        switch message {
        case .subscribe(let address, let request):
            channels.authority.subscribe(request, to: address, as: nil, from: nil)
        case .subscribeAsMember(let address, let request, let member):
            channels.authority.subscribe(request, to: address, as: member, from: nil)
        case .subscribeFrom(let position, let address, let request, let member):
            channels.authority.subscribe(request, to: address, as: member, from: position)
        case .granted(let address, let request, let grant):
            channels.complete(request, to: address, grant)
        case .refused(let address, let request, let refusal):
            channels.refuse(request, to: address, refusal)
        case .restarted(let address, let start, let members):
            channels.restart(address, at: start, members: members)
        case .lost(let address, let start, let members):
            channels.lose(address, start, members: members)
        case .reconnect(let socketID): channels.reconnects.append(socketID)
        case .unsubscribe(let address, let shard, let connection):
            channels.removeSubscriber(connection, of: shard, at: address)
        case .publish(let address, let publication, let receipt):
            channels.receive(publication, on: address, receipt)
        case .published(let number, let outcome): channels.outcomes.settle(number, outcome)
        case .publishClientEvent(let address, let event, let sender):
            channels.receive(event, by: sender, on: address)
        case .reply(let message, let socketID): channels.outcomes.receive(message, for: socketID)
        case .fanOut(let address, let frame, let except):
            channels.fanOut(frame, at: address, except: except)
        case .fanOutWithReceipt(let address, let frame, let key, let sender):
            channels.fanOut(frame, at: address, except: sender, receiptOf: key)
        case .congestion(let address, let shard, let isCongested):
            channels.congestion.set(at: address, of: shard, isCongested)
        case .confirm(let address): channels.congestion.confirm(address)
        case .query(let query, let id, let asker):
            queries.answer(query, QueryReply(id: id, asker: asker))
        case .answer(let answer, let id): queries.receive(answer, of: id)
        case .listing(let message): listings.receive(message)
        case .delivery(let message): deliveries.receive(message)
        case .users(let message): users.receive(message)
        case .sessions(let message): sessions.receive(message)
        case .webhookSettled(let id, let isDelivered):
            cluster?.settle(id, isDelivered: isDelivered)
        case .archive(.sessionsWritten): sessions.checkpoints?.written()
        case .archive(let reply): stored?.receive(reply)
        }
    }

    // MARK: - Liveness

    /// Checks the liveness of all clients periodically, with one timer for all.
    package func watchLiveness() {
        context.reactor.schedule(after: .seconds(context.settings.liveness.interval), self)
    }

    package func timerFired(tag: Int) {
        connections.checkLiveness()
        memoryTrim.look(at: context.reactor)
        watchLiveness()
    }

    // MARK: - Archive

    /// Continues the streams and keys of the archive whose home is this shard; called before the first client connects.
    package func restore(_ contents: ArchiveContents) { channels.restore(contents) }

    /// Makes the archive keep the streams of channels without messages, before a stop disconnects their clients.
    package func keepBlankStreams() { stored?.keepBlankStreams() }

    /// The state that is only in memory, for the next start.
    package var spooled: SpooledState { channels.spooled }

    /// Continues what an earlier run had in memory; called before the first client connects.
    package func restore(_ spooled: SpooledState) { channels.restore(spooled) }

    /// The sessions of stock clients whose home is this shard, for the next start.
    package var storedSessions: StoredSessions { sessions.local.stored }

    /// Continues sessions of an earlier run; called before the first client connects.
    package func restore(_ stored: StoredSessions) { sessions.local.restore(stored) }

    // MARK: - Cluster

    /// Connects the home of this shard to the cluster.
    package func joinCluster() { cluster?.connect() }

    /// Hands this shard's leaderships in the cluster to other nodes, because the broker is about to stop.
    package func resignFromCluster() { cluster?.resign() }

    /// Removes the node from the cluster when it stops.
    package func leaveCluster() { cluster?.leaveCluster() }

    /// Whether nothing of the node is left in the cluster.
    package var hasLeftCluster: Bool { cluster?.hasLeft ?? true }

    /// Uses the socket IDs of a node; called before the first client connects.
    package func use(socketIDBase: UInt64) {
        context.socketIDBase = socketIDBase
        connections.use(socketIDBase: socketIDBase)
    }

    // MARK: - Apps

    /// Replaces the apps, unless the registry is older than the present one.
    ///
    /// The new configuration of an app applies to its connections.
    package func replaceApps(_ registry: AppRegistry) {
        let former = context.registry
        guard registry.generation > former.generation else { return }
        context.replaceApps(registry)
        channels.appsWereReplaced(former)
        connections.replaceApps(registry)
    }

    // MARK: - Metrics

    /// The sizes of the tables that grow with the behaviour of peers, by name.
    package var tableSizes: [(table: String, count: Int)] {
        [
            ("connections", connections.count),
            ("unauthorized connections", connections.unauthorizedCount),
            ("orphaned connections", connections.orphanedCount),
            ("incomplete messages", incompleteMessages.count),
            ("channels", channels.table.count),
            ("pending triggers", channels.outcomes.triggers.count),
            ("backlogs", channels.congestion.count),
            ("clients to be reconnected", channels.reconnects.count),
            ("closed connections with subscriptions", channels.leavingCount),
            ("waiting resumes", channels.throttle.waitingCount),
            ("pending resumes", channels.throttle.pendingCount),
            ("unsent replays", channels.throttle.unsentCount),
            ("cached events", channels.isCacheAtRest ? 0 : 1),
            ("counts to be announced", channels.areCountsAtRest ? 0 : 1),
            ("departing members", channels.areMembersAtRest ? 0 : 1),
            ("sessions of tokens", sessions.isAtRest ? 0 : 1),
            ("sessions that wait for Redis", cluster?.sessionCounts.waiting ?? 0),
            ("confirmations", channels.confirmations.isAtRest ? 0 : 1),
            ("signed-in users", users.signedInCount),
            ("users at home", users.homeCount),
            ("pending queries", queries.count),
            ("pending lists", listings.count),
            ("pending searches", deliveries.count),
            ("deferred answers", deferredAnswers.count),
            ("records of open connections", channels.records.openCount),
            ("claims of connections", channels.records.claimCount),
            ("inbound bytes", context.reactor.inbound.byteCount),
            ("streams", context.reactor.streamCount),
            ("timers", context.reactor.timerCount),
        ] + channels.authority.tableSizes
    }

    /// The amount that the shard keeps for recovery, to check the limits.
    package var retainedSizes: RetainedSizes {
        var sizes = channels.state.streams.retainedSizes
        sizes.sessions = sessions.local.home.count + (cluster?.sessionCounts.atHome ?? 0)
        return sizes
    }

    // MARK: - Stopping

    /// The stages of a broker's shutdown.
    package enum Stage {
        /// New clients are admitted.
        case serving
        /// New clients are admitted, but `/health` answers 503.
        case leaving
        /// New clients are refused with 4200, and connected ones are closed.
        case draining
    }

    /// Closes up to `count` connections whose app was removed or disabled, and returns whether any are left.
    package func closeOrphanedConnections(upTo count: Int) -> Bool {
        connections.closeOrphanedConnections(upTo: count)
    }

    /// Asks the clients with session tokens to confirm what they have got, before they are closed.
    package func askForConfirmations() { channels.confirmations.askAll() }

    /// Closes up to `count` connections with the code that asks clients to reconnect at once (4200); returns the number
    /// closed.
    package func drain(upTo count: Int) -> Int { connections.drain(upTo: count) }

    /// Closes everything at once; the shard cannot be used afterwards.
    package func shutDown() {
        while channels.leavingCount > 0 { channels.advanceLeaves() }
        cluster?.shutDown()
        context.reactor.shutDown()
        // Pending requests hold references to this shard.
        channels.dropPending()
        queries.dropPending()
        deliveries.dropPending()
        deferredAnswers.dropPending()
    }
}

// MARK: - Requests of clients

extension ShardCore: ConnectionDelegate {
    func connectionReceived(_ connection: Connection) { connections.received(connection) }

    func connectionReceivedPong(_ connection: Connection) { connections.receivedPong(connection) }

    func connection(
        _ connection: Connection,
        subscribesTo channel: ChannelName,
        as member: Member?,
        from position: PositionRequest?,
        request: UInt32
    ) {
        if member != nil { connections.becamePresent(connection) }
        channels.subscribe(
            connection,
            to: channel,
            as: member,
            from: position,
            request: request
        )
    }

    func connection(_ connection: Connection, claims claim: SessionClaim) { sessions.claim(claim) }

    func connection(_ connection: Connection, hasConfirmed confirmed: [ChannelName]) {
        channels.records.confirmed(confirmed, by: connection)
        sessions.checkpoints?.changed(connection)
    }

    func connectionKeepsAnotherPosition(_ connection: Connection) {
        sessions.checkpoints?.changed(connection)
    }

    func connection(_ connection: Connection, isAliveIn session: SessionAddress) {
        sessions.isAlive(connection, session)
    }

    func connectionHasUnconfirmed(_ connection: Connection) {
        channels.confirmations.add(connection)
    }

    func connectionHasUnconfirmedGrant(_ connection: Connection) {
        channels.confirmations.granted(connection)
    }

    func connectionHasReplayPart(_ connection: Connection) {
        channels.confirmations.ask(connection, behind: .replayPart)
    }

    func connection(_ connection: Connection, unsubscribesFrom channel: ChannelName) {
        if let checkpoints = sessions.checkpoints, connection.hasToken {
            checkpoints.changed(connection)
        }
        channels.unsubscribe(connection, from: channel)
    }

    func connection(
        _ connection: Connection,
        publishes event: ClientEvent,
        on channel: ChannelName
    ) -> Limit? {
        if let limit = channels.publishLimit ?? channels.archiveLimit(of: channel, connection.app) {
            return limit
        }
        channels.publish(event, on: channel, of: connection)
        return nil
    }

    func connection(_ connection: Connection, signsInAs user: UserID) {
        connections.becamePresent(connection)
        users.signIn(connection, as: user)
        context.notify(
            .signIns,
            of: connection.app.id,
            .signedIn(connection.socketID, user)
        )
    }

    func connection(_ connection: Connection, watches watched: [UserID]) {
        users.watch(watched, by: connection)
    }

    func connection(_ connection: Connection, unwatches watched: [UserID]) {
        users.unwatch(watched, by: connection)
    }

    func connectionIsAuthorized(_ connection: Connection) {
        connections.cancelAuthorizationTimer(of: connection)
    }

    func connection(_ connection: Connection, holdsIncompleteMessage byteCount: Int?) {
        if let byteCount {
            incompleteMessages.hold(byteCount, of: connection)
        } else {
            incompleteMessages.release(of: connection)
        }
    }

    func connectionIsClosing(
        _ connection: Connection,
        _ registrations: Session.Registrations,
        _ ending: ConnectionRecord.Ending
    ) {
        if ending.code == nil, !ending.isByClient { connections.lost(connection) }
        if connection.hasToken {
            channels.confirmations.remove(connection)
            sessions.checkpoints?.remove(connection)
        }
        if let handover = registrations.handover { sessions.park(handover) }
        channels.records.closed(connection, as: registrations.user, ending) { channel in
            let address = ChannelAddress(app: connection.app.id, name: channel)
            return channels.table[address]?.lastSerial ?? 0
        }
        channels.unsubscribeAll(registrations.subscriptions, of: connection)
        guard let user = registrations.user else { return }
        users.unwatch(registrations.watchedUsers, by: connection)
        users.signOut(connection, as: user)
    }

    func connectionDrained(_ connection: Connection) {
        channels.throttle.sent(connection.socketID)
    }

    func connectionClosed(_ connection: Connection) {
        channels.throttle.sent(connection.socketID)
        connections.remove(connection)
    }

    func queueBudget(of app: App) -> MemoryBudget { connections.queueBudget(of: app) }
}

/// Creates a shard's part in a cluster from the shard's channels, users and sessions.
package typealias SharedHomeMaker =
    (ChannelService, UserService, SessionService) -> any SharedHome
