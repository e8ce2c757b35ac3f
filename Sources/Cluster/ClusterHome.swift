import Broker
import BrokerConfiguration
import Primitives
import PusherProtocol
import RESP
import Redis
package import Shard
import Synchronization

/// A home shard's part in a cluster: what Redis decides for all nodes about the shard's channels, users and sessions.
///
/// Each task has an object of its own; all of them send their calls to the same ``Partitions``, and get the replies
/// themselves. The home tells them when a store is found or lost. Confined to its loop's thread.
final class ClusterHome {
    let partitions: Partitions
    let shares: KeptShares
    let rules: SharedRules
    let channels: SharedChannels
    let publisher: ClusterPublisher
    let users: SharedUsers
    let sessions: SharedSessions
    let queries: SharedQueries
    let lists: SharedLists
    let leader: PartitionLeader
    let reaper: NodeReaper
    let reconciliation: Reconciliation
    let usage: UsageReports
    let comparison: ChannelComparison
    let registration: NodeRegistration
    let heartbeats: Heartbeats
    private lazy var moves = PartitionMoves(partitions, heartbeats, registration, sessions, self)

    /// Creates the home of a shard's channels, users and sessions, which is not connected yet.
    init(
        _ settings: ClusterSettings,
        _ channels: ChannelService,
        _ users: UserService,
        _ sessions: SessionService,
        _ dialer: (any RedisDialer)?
    ) {
        let context = channels.context
        partitions = Partitions(.init(context: context, settings: settings, dialer: dialer))
        shares = KeptShares(partitions)
        rules = SharedRules(partitions, shares)
        self.channels = SharedChannels(partitions, rules, channels)
        comparison = ChannelComparison(self.channels)
        publisher = ClusterPublisher(partitions, rules, shares, self.channels.remotes, channels)
        self.sessions = SharedSessions(partitions, sessions, self.channels.delivery)
        queries = SharedQueries(partitions, rules)
        self.users = SharedUsers(partitions, queries, users)
        lists = SharedLists(partitions, queries)
        leader = PartitionLeader(partitions, rules)
        reaper = NodeReaper(partitions, rules)
        reconciliation = Reconciliation(partitions, rules, self.users, self.channels)
        usage = UsageReports(partitions)
        registration = NodeRegistration(partitions, reconciliation)
        heartbeats = Heartbeats(partitions, registration, leader, reaper, self.channels)
        self.channels.registerAgain = { [unowned self] index in
            registration.register(index, at: partitions[index].store, known: 0)
            self.users.follow(partition: index)
        }
        addPartitions()
    }

    private var context: ShardContext { partitions.context }

    private var settings: ClusterSettings { partitions.settings }

    private func addPartitions() {
        var stores: [Int: ClusterStore] = [:]
        let (count, environment) = (settings.partitionCount, partitions.environment)
        for number in stride(from: context.shard, to: count, by: context.shardCount) {
            let storeNumber = number % settings.stores.count
            let address = settings.stores[storeNumber]
            let store =
                stores[storeNumber] ?? ClusterStore(address, in: environment, delegate: self)
            stores[storeNumber] = store
            store.partitions.append(partitions.count)
            let calls = PartitionCalls(
                node: settings.node,
                keys: settings.keys[number],
                scripts: settings.scripts
            )
            partitions.append(Partition(calls, in: store))
        }
        partitions.stores = stores.sorted { $0.key < $1.key }.map(\.value)
    }

    // MARK: - The connections

    /// Connects for the first time.
    func connect() {
        guard !partitions.stores.isEmpty else {
            settings.status.readyCount.add(1, ordering: .relaxed)
            return
        }
        guard settings.mode != .cluster else { return moves.joinRedisCluster() }
        for store in partitions.stores { store.connect() }
    }

    /// Ends the connections, with the shard.
    func shutDown() {
        // The connections, which end afterwards, withdraw what waits.
        partitions.slots?.stop()
        partitions.slots = nil
        for store in partitions.stores { store.shutDown() }
        queries.removeAll()
        lists.removeAll()
        channels.removeAll()
        leader.removeAll()
        reconciliation.removeAll()
        sessions.removeAll()
    }

    func resume(_ store: ClusterStore, partition index: Int?) {
        channels.catchUpAll(in: store, partition: index)
        publisher.sendMessages(to: store)
        users.resume(in: store, partition: index)
        leader.settling.schedule(after: .zero)
        sessions.resume(in: store, partition: index)
        queries.resume()
        lists.resume()
    }

    func cutOff(_ store: ClusterStore) {
        channels.fallBehind(in: store)
        leader.loseLeaderships(in: store)
        users.forgetStates(in: store)
        sessions.forgetInboxes(in: store)
        reaper.forget(store)
    }

    // MARK: - The turn

    // Work that takes several turns: each turn does a portion, so that events wait for no more than one.

    /// Whether the next turn has a portion to do.
    var hasWork: Bool {
        !channels.granting.isEmpty || leader.hasDue || reconciliation.hasItems || lists.hasNext
            || partitions.stores.contains { store in
                store.takesPacedCalls && !store.channels.attachments.isEmpty
                    || channels.hasCatchUps(in: store)
            }
    }

    /// Does one portion of everything that takes several turns.
    func advance() {
        for store in partitions.stores {
            channels.changeNextAttachments(in: store)
            channels.catchUpNext(in: store)
        }
        leader.executeDue()
        for store in partitions.stores { store.beginTurn() }
        channels.grantNext()
        reconciliation.advance()
        lists.askNext()
    }

    // MARK: - The end

    /// Removes this node's data from Redis when it stops.
    func leaveCluster() {
        guard !partitions.isLeaving, partitions.stores.contains(where: \.isOpen) else { return }
        // Before the end of the leaderships, so that no other node repeats them.
        leader.sendSettled()
        partitions.isLeaving = true
        if context.shard == 0 {
            registration.removeReport()
            usage.forget([settings.node])
        }
        reaper.reapThisNode()
    }

    /// Whether the reachable stores have no data of this node.
    var hasLeft: Bool {
        guard partitions.stores.contains(where: \.isOpen) else { return true }
        return partitions.isLeaving && sessions.unansweredWrites == 0 && !reaper.isReapingThisNode
            && partitions.indices.allSatisfy {
                leader.settled[$0].isEmpty || !partitions[$0].store.isOpen
            }
    }

    // MARK: - Metrics

    var sessionCounts: (waiting: Int, atHome: Int) {
        (sessions.waitingCount, sessions.owned.count)
    }

    var reading: ClusterReading {
        let stores = partitions.stores
        let (leaderships, waitingWebhooks) = leader.counts
        var reading = ClusterReading()
        reading.connections = stores.count(where: \.isOpen)
        reading.attachedChannels = channels.remotes.attachedCount
        reading.waitingBytes = stores.reduce(0) { $0 + $1.waitingByteCount }
        reading.roundTripMicroseconds = partitions.roundTripMicroseconds
        reading.leaderships = leaderships
        reading.waitingWebhooks = waitingWebhooks
        reading.counts = partitions.counts
        return reading
    }
}

extension ClusterSettings {
    /// Creates a shard's part in the cluster, which is not connected yet; `dialer` is that of a simulation.
    package func makeHome(
        of channels: ChannelService,
        _ users: UserService,
        _ sessions: SessionService,
        dialedBy dialer: (any RedisDialer)? = nil
    ) -> any SharedHome {
        ClusterHome(self, channels, users, sessions, dialer)
    }
}

// What the shard proposes, passed on to whose task it is.
extension ClusterHome: ChannelAuthority {
    func publish(
        _ event: ProposedEvent,
        on channel: Channel?,
        at address: ChannelAddress,
        by publisher: () -> Proposal.Publisher
    ) -> PendingTrigger.Outcome? {
        self.publisher.publish(event, on: address, by: publisher)
    }

    func subscribe(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest?
    ) {
        let subscription = PendingSubscription(request: request, member: member, position: position)
        channels.subscribe(subscription, to: address)
    }

    func unsubscribe(
        _ id: SocketID,
        of shard: Int,
        from channel: Channel?,
        at address: ChannelAddress
    ) {
        channels.unsubscribe(id, of: shard, from: channel, at: address)
    }

    func answer(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void) {
        queries.answer(query, finish)
    }

    @discardableResult
    func list(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void) -> Int {
        lists.list(range, finish)
        return range.limit
    }

    func appsWereReplaced(_ former: AppRegistry) {
        channels.service.state.replaceSettings(of: context.registry.apps.all)
    }

    func dispatch() -> Bool { publisher.dispatch() }

    var tableSizes: [(table: String, count: Int)] {
        [("messages that wait for Redis", publisher.waitingCount)]
    }

    // The stores end with the shard, and what waits with them.
    func dropPending() {}
}

// The shard's part in the cluster.
extension ClusterHome: SharedHome {
    var channelAuthority: any ChannelAuthority { self }
    var userAuthority: any UserAuthority { users }
    var sessionAuthority: any SessionAuthority { sessions }

    func settle(_ id: QueuedEvent.ID, isDelivered: Bool) {
        leader.settle(id, isDelivered: isDelivered)
    }

    func resign() { leader.resign() }
}

// What the stores report, passed on to whose task it is.
extension ClusterHome: ClusterStoreDelegate {
    func connectionSettings(of store: ClusterStore) -> RedisSettings {
        registration.connectionSettings(of: store)
    }

    func counter(of partition: Int) -> RedisKey { partitions[partition].calls.keys.counter }

    func connected(_ store: ClusterStore, to server: RedisServer) {
        if partitions.slots == nil, server.mode == .cluster, settings.mode.joins(store.address) {
            return moves.joinRedisCluster()
        }
        if let fault = registration.fault(of: server) {
            store.status.failed("\(store.address.url): \(fault)")
            store.connection?.close()
            return
        }
        store.begin(at: server)
        registration.begin(in: store, with: server)
        resume(store, partition: nil)
        moves.continueMoves()
        heartbeats.begin(in: store)
    }

    func lost(
        _ store: ClusterStore,
        _ fault: RedisFault,
        unconfirmed: [OutgoingMessage],
        _ unanswered: [any StoreCall]
    ) {
        partitions.counts.faults[fault.reason, default: 0] += 1
        cutOff(store)
        publisher.lost(unconfirmed + unanswered.flatMap(\.messages), by: store)
        sessions.lost(unanswered)
        for call in unanswered { call.abandon() }
        moves.connectionEnded(of: store)
    }

    func received(
        _ reply: borrowing RESPView,
        to answered: ClusterStore.Unanswered,
        from store: ClusterStore
    ) {
        if partitions.slots == nil {
            answered.call.received(reply, from: store)
        } else {
            moves.received(reply, to: answered, from: store)
        }
        channels.changeNextAttachments(in: store)
    }

    func subscriptionRefused(_ error: RedisError, by store: ClusterStore) {
        moves.subscriptionRefused(error, by: store)
    }

    func acceptsSubscriptions(_ store: ClusterStore) { registration.endLossIfPossible(of: store) }

    func subscriptionEnded(to topic: String, at store: ClusterStore) {
        let index =
            channels.remotes.topics[topic]?.partition ?? sessions.inboxes[topic]
            ?? users.partition(ofTopic: topic)
        moves.subscriptionEnded(to: topic, of: index, at: store)
    }

    func received(_ message: borrowing RESPView, at topic: String) {
        if let remote = channels.remotes.topics[topic] {
            channels.received(message, on: remote)
        } else if !sessions.receive(message, at: topic) {
            users.receive(message, at: topic)
        }
    }

    func finish(_ message: OutgoingMessage, _ outcome: PublishOutcome) {
        publisher.finish(message, outcome)
    }

    func refuse(_ message: OutgoingMessage, _ refusal: ClusterRefusal) {
        publisher.refuse(message, refusal)
    }

    func announceAcknowledgement(of store: ClusterStore) -> Int {
        heartbeats.sendAll(in: store)
        return heartbeats.unansweredCount(in: store)
    }

    func heartbeatIsDue(in store: ClusterStore) {
        heartbeats.sendNext(in: store) { [self] index in
            shares.read(of: index)
        } finish: { [self] beginsRound in
            if beginsRound { beginRound(of: store) }
            comparison.compareNext(in: store)
        }
    }

    /// Performs the tasks of each heartbeat interval.
    private func beginRound(of store: ClusterStore) {
        if registration.claimsNumber(at: store) {
            registration.claimNumber(at: store)
            registration.sendReport()
            usage.report()
        }
        channels.attachRefused(in: store)
        users.readRefusedStates()
        comparison.begin(in: store)
    }

    func comparisonIsDue(in store: ClusterStore) { comparison.compareDue(in: store) }

    func refuseQueries() {
        queries.refuseWaiting()
        lists.refuseWaiting()
    }

    func closeClaimants(of store: ClusterStore) { sessions.closeClaimants(of: store) }

    func closeClients(in partition: Int) { channels.closeClients(in: partition) }
}
