import Broker
import BrokerConfiguration
import Net
import Primitives
import PusherProtocol
import RESP
import Redis
import Synchronization
import Webhooks

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
    private(set) lazy var registration = NodeRegistration(self)
    private(set) lazy var moves = PartitionMoves(self)

    /// The time until the next portion of work that takes several turns, because events have precedence.
    static var nextTurn: Duration { .milliseconds(1) }

    /// Creates the home of a shard's channels, users and sessions, which is not connected yet.
    init(
        _ settings: ClusterSettings,
        _ channels: ChannelService,
        _ users: UserService,
        _ sessions: SessionService,
        _ dialer: (any RedisDialer)?
    ) {
        partitions = Partitions(settings, channels.context, dialer)
        shares = KeptShares(partitions)
        rules = SharedRules(partitions, shares)
        self.channels = SharedChannels(partitions, rules, channels)
        publisher = ClusterPublisher(partitions, rules, shares, self.channels.remotes, channels)
        self.users = SharedUsers(partitions)
        self.sessions = SharedSessions(partitions)
        queries = SharedQueries(partitions, rules, self.users, channels)
        lists = SharedLists(partitions, queries)
        leader = PartitionLeader(partitions, rules)
        reaper = NodeReaper(partitions, rules)
        reconciliation = Reconciliation(partitions, rules, self.users, self.channels)
        usage = UsageReports(partitions)
        self.users.terminateHere = { [unowned users] in users.terminate($0) }
        self.users.report = { [unowned users] in users.send($0) }
        self.sessions.send = { [unowned sessions] in sessions.send($0, toShardOf: $1) }
        self.sessions.close = { [delivery = self.channels.delivery] in delivery.close($0) }
        addPartitions()
    }

    private var context: ShardContext { partitions.context }

    private var settings: ClusterSettings { partitions.settings }

    private func addPartitions() {
        var stores: [Int: ClusterStore] = [:]
        for number in stride(
            from: context.shard,
            to: settings.partitionCount,
            by: context.shardCount
        ) {
            let storeNumber = number % settings.stores.count
            let store = stores[storeNumber] ?? ClusterStore(settings.stores[storeNumber], of: self)
            stores[storeNumber] = store
            store.partitions.append(partitions.count)
            let calls = PartitionCalls(
                node: settings.node,
                keys: settings.keys[number],
                scripts: settings.scripts
            )
            partitions.append(Partition(calls, in: store))
            leader.addPartition()
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

    /// Called when calls on a store's partitions are possible: everything that waits for them continues.
    func opened(_ store: ClusterStore) {
        goOn(in: store)
        moves.continueMoves()
    }

    /// Continues everything that waits for a store, or for one partition of it.
    ///
    /// - Parameters:
    ///   - store: The store, whose connection is open.
    ///   - index: The index of the partition that has moved there; `nil` for all.
    func goOn(in store: ClusterStore, partition index: Int? = nil) {
        channels.catchUpAll(in: store, partition: index)
        store.sendMessages()
        users.resume(in: store, partition: index)
        leader.settling.schedule(after: .zero)
        sessions.resume(in: store, partition: index)
        queries.resume()
        lists.resume()
    }

    /// Called when the connection to a store is lost; Redis may have executed the unanswered calls, given in their
    /// order.
    func lost(_ store: ClusterStore, _ unanswered: [any StoreCall]) {
        cutOff(store)
        publisher.lost(unanswered, by: store)
        sessions.lost(unanswered.compactMap { $0 as? SessionCall })
        for call in unanswered { call.abandon() }
        moves.connectionEnded(of: store)
    }

    /// Called when nothing of a store's partitions is received any more, and other nodes may take over this node's
    /// tasks.
    func cutOff(_ store: ClusterStore) {
        channels.fallBehind(in: store)
        leader.loseLeaderships(in: store)
        users.forgetStates(in: store)
        sessions.forgetInboxes(in: store)
        reaper.forget(store)
    }

    /// Receives a published message.
    func received(_ message: borrowing RESPView, at topic: String) {
        if let remote = channels.remotes.topics[topic] {
            channels.received(message, on: remote)
        } else if let index = sessions.inboxes[topic] {
            guard let message = InboxMessage(message.copy()) else {
                return partitions.refused(topic, by: partitions[index].store)
            }
            sessions.receive(message)
        } else {
            users.receive(message, at: topic)
        }
    }

    // MARK: - The turn

    // Work that takes several turns: each turn does a portion, so that events wait for no more than one.

    /// Whether the next turn has a portion to do.
    var hasWork: Bool {
        !channels.granting.isEmpty || leader.hasDue || reconciliation.hasItems || lists.hasNext
            || partitions.stores.contains { store in
                store.takesPacedCalls && !store.attachmentQueue.isEmpty
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

    var tableSizes: (messages: Int, waitingSessions: Int, sessions: Int) {
        (publisher.waitingCount, sessions.waitingCount, sessions.owned.count)
    }

    var reading: ClusterReading {
        let stores = partitions.stores
        let roundTrip = stores.compactMap { $0.connection?.lastRoundTrip }.max() ?? .zero
        let (leaderships, waitingWebhooks) = leader.counts
        return ClusterReading(
            connections: stores.count(where: \.isOpen),
            attachedChannels: channels.remotes.attachedCount,
            waitingBytes: stores.reduce(0) { $0 + $1.waitingByteCount },
            roundTripMicroseconds: Int(roundTrip / .microseconds(1)),
            leaderships: leaderships,
            waitingWebhooks: waitingWebhooks,
            counts: partitions.counts
        )
    }
}

extension ClusterSettings {
    /// Creates a shard's part in the cluster.
    ///
    /// - Parameters:
    ///   - channels: The shard's channels.
    ///   - users: The shard's users.
    ///   - sessions: The shard's sessions.
    ///   - dialer: The dialer of a simulation; `nil` for the network.
    /// - Returns: The part, which is not connected yet.
    package func makeHome(
        of channels: ChannelService,
        _ users: UserService,
        _ sessions: SessionService,
        dialedBy dialer: (any RedisDialer)? = nil
    ) -> any SharedHome {
        ClusterHome(self, channels, users, sessions, dialer)
    }
}

// What the shard asks for, passed on to whose task it is.
extension ClusterHome: SharedHome {
    func publish(
        _ event: ProposedEvent,
        on address: ChannelAddress,
        by publisher: () -> Proposal.Publisher
    ) -> PendingTrigger.Outcome? {
        self.publisher.publish(event, on: address, by: publisher)
    }

    func waits(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest?
    ) -> Bool {
        channels.waits(request, to: address, as: member, from: position)
    }

    func withdraw(_ id: SocketID, from address: ChannelAddress) -> Bool {
        channels.withdraw(id, from: address)
    }

    func subscribed(at address: ChannelAddress) { channels.subscribed(at: address) }

    func countChanged(at address: ChannelAddress) { channels.countChanged(at: address) }

    func reports(_ event: ChannelEvent, at address: ChannelAddress) -> Bool {
        channels.reports(event, at: address)
    }

    func cachedOpening(at address: ChannelAddress, ahead replay: Replay?) -> Grant.CachedOpening? {
        channels.cachedOpening(at: address, ahead: replay)
    }

    func members(at address: ChannelAddress) -> [Member]? { channels.members.list(at: address) }

    func answer(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void) {
        queries.answer(query, finish)
    }

    func list(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void) {
        lists.list(range, finish)
    }

    func signedIn(_ user: UserAddress) { users.signedIn(user) }

    func signedOut(_ user: UserAddress) { users.signedOut(user) }

    func watch(_ ids: [UserID], of app: AppID, by watcher: UserHome.Watcher) -> UserHome.Report {
        users.watch(ids, of: app, by: watcher)
    }

    func unwatch(_ ids: [UserID], of app: AppID, by watcher: UserHome.Watcher) {
        users.unwatch(ids, of: app, by: watcher)
    }

    var followedUserCount: Int { users.count }

    func claim(_ claim: SessionClaim) { sessions.claim(claim) }

    func park(_ handover: SessionHandover) { sessions.park(handover) }

    func share(_ address: SessionAddress, _ id: SocketID) { sessions.share(address, id) }

    func keep(_ session: StoredSession) { sessions.keep(session) }

    func sendMessages() -> Bool { publisher.sendMessages() }

    func settle(_ id: QueuedEvent.ID, isDelivered: Bool) {
        leader.settle(id, isDelivered: isDelivered)
    }

    func resign() { leader.resign() }
}
