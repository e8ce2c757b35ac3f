package import Broker
import Net
import PusherProtocol

/// The channels of one shard: the subscribers connected to it, and the homes of the channels that it owns.
///
/// Its ``authority`` decides; this class proposes, and performs the decisions. The extensions contain subscribing,
/// publishing, the streams of channels, and their continuation after a start.
package final class ChannelService: TimerTarget {
    package let context: ShardContext
    let connections: Connections
    // Exclusive access is not checked: the values call nothing while they change.
    @exclusivity(unchecked) package var table: ChannelTable
    @exclusivity(unchecked) package var state: HomeShardState
    /// Decides about the channels whose home is here, as the shard has chosen.
    package var authority: any ChannelAuthority {
        get {
            guard let chosen else { preconditionFailure("the channels have no authority yet") }
            return chosen
        }
        set { chosen = newValue }
    }
    @exclusivity(unchecked) private var chosen: (any ChannelAuthority)?
    /// The clients that are asked to reconnect because messages are missing.
    package let reconnects: PacedReconnects
    /// The clients with session tokens that have something to confirm.
    let confirmations: Confirmations
    let records: DeliveryRecords
    /// The closed connections that are still subscribed to channels.
    var leaves: LeaveQueue
    private var areTimersRunning = (
        cache: false, counts: false, resumes: false, departures: false
    )
    /// The subscriptions that wait for the replays of others.
    @exclusivity(unchecked) var throttle = ReplayThrottle()
    package let outcomes: Outcomes
    private(set) lazy var congestion = Congestion(of: self)

    init(_ context: ShardContext, _ connections: Connections) {
        self.context = context
        self.connections = connections
        table = ChannelTable(shard: context.shard)
        state = HomeShardState(
            shardCount: context.shardCount,
            smallPresenceChannelMax: context.settings.smallPresenceChannelMax,
            seed: context.settings.streamSeed &+ UInt64(context.shard),
            retainedBytesMax: context.settings.retainedBytesMax,
            replayBytesMax: context.settings.streamLimits.queuedBytesMax / 4
        )
        state.reportsCacheMisses = context.isObserved(.cacheMisses)
        state.areStreamsCopies = context.settings.cluster != nil
        records = DeliveryRecords(context, connections)
        outcomes = Outcomes(context, connections)
        reconnects = PacedReconnects(context, connections)
        leaves = LeaveQueue(context.settings.leaving)
        confirmations = Confirmations(context)
        confirmations.channelAt = { [unowned self] in table[$0] }
    }

    /// Called after the apps of the context were replaced; `former` are the apps served before.
    func appsWereReplaced(_ former: AppRegistry) {
        state.reportsCacheMisses = context.isObserved(.cacheMisses)
        authority.appsWereReplaced(former)
    }

    /// Drops pending triggers and queued events, when the shard has stopped.
    func dropPending() {
        authority.dropPending()
        outcomes.triggers.removeAll()
        throttle.removeAll()
        congestion.dropPending()
    }

    // MARK: - Effects of a home

    /// Performs the effects of a home, in order.
    ///
    /// The channel is `nil` if it does not exist, and the request is the one that caused the effects, if any.
    package func perform(
        _ effects: [ChannelEffect],
        on channel: Channel?,
        at address: ChannelAddress,
        for request: SubscriptionRequest? = nil
    ) {
        for effect in effects {
            switch effect {
            case .grant(let grant):
                if let request, let channel { send(grant, for: request, of: channel, at: address) }
            case .refuse(let membersMax):
                if let request {
                    let refusal = SubscriptionRefusal.full(address.name, membersMax: membersMax)
                    sendRefusal(of: request, at: address, refusal)
                }
            case .fanOut(let notice, let delayMax):
                guard let channel else { continue }
                let message = ChannelMessage(notice, delayMax: UInt16(clamping: delayMax))
                distribute(message, on: channel, at: address, except: nil)
            case .notify(let event):
                if event == .occupied { table.becameOccupied(address) }
                if event == .vacated { table.becameVacant(address) }
                context.notify(event.kind, on: address, event)
            case .limitMet(let limit): context.limitMet(limit, of: address.app)
            }
        }
        startTimers()
    }

    /// Sends the grant of a subscription to the subscriber's shard.
    ///
    /// `shared` is the cached event that the nodes of a cluster share, and `members` are the members on all nodes.
    package func send(
        _ grant: ChannelEffect.Grant,
        for request: SubscriptionRequest,
        of channel: Channel,
        at address: ChannelAddress,
        shared: Grant.CachedOpening? = nil,
        members: [Member]? = nil
    ) {
        if grant.hasPosition, case .gap(let gap) = grant.replay?.start.continuity {
            context.notify(.gaps, of: address.app, .gapTold(request.socketID, address, gap))
        }
        let grant = Grant(grant, on: address.name, shared: shared, members: members)
        context.notify(
            .subscriptions,
            on: address,
            .subscribed(
                request.socketID,
                userID: channel.home.presence.user(of: request.socketID)
            )
        )
        if request.shard == context.shard {
            complete(request, to: channel, grant)
        } else {
            context.links.send(.granted(address, request, grant), to: request.shard)
        }
    }

    package func sendRefusal(
        of request: SubscriptionRequest,
        at address: ChannelAddress,
        _ refusal: SubscriptionRefusal
    ) {
        if request.shard == context.shard {
            refuse(request, to: address, refusal)
        } else {
            context.links.send(.refused(address, request, refusal), to: request.shard)
        }
    }

    /// The app of a channel, if the home needs it; most subscriptions do not need the lookup.
    package func app(of address: ChannelAddress, isTracked: Bool = false) -> App? {
        let (kind, registry) = (address.name.kind, context.registry)
        guard
            isTracked || registry.announcesCounts || registry.replaysOpenings || kind.isPresence
                || kind.isCache
        else { return nil }
        return context.registry.apps[address.app]
    }

    // MARK: - Timers

    /// The tag of the timer of each task.
    private enum Task: Int { case cache, counts, resumes, departures }

    /// The time between two removals of expired events; an expired event is never sent.
    private static var cacheInterval: Duration { .seconds(15) }
    /// The maximum delay of a large channel's subscription count.
    private static var countInterval: Duration { .seconds(1) }
    /// The shortest time between two turns while subscriptions wait for replays that may stop counting.
    private static var resumesInterval: Duration { .seconds(1) }

    /// Whether there are no cached events, and no timer is running for them.
    var isCacheAtRest: Bool { state.isCacheEmpty && !areTimersRunning.cache }

    /// Whether no subscription count is pending, and no timer is running for one.
    var areCountsAtRest: Bool { state.areCountsAnnounced && !areTimersRunning.counts }

    /// The longest time between two turns while members are departing; their times may differ by app.
    private static var departuresInterval: Duration { .seconds(1) }
    /// The maximum number of members that leave in one turn, so that events wait for no more notices.
    private static var departuresMax: Int { 64 }

    /// Whether no member is departing, and no timer is running for one.
    var areMembersAtRest: Bool { state.nextDeparture == nil && !areTimersRunning.departures }

    /// Starts the timers of pending work; without any, none is running.
    package func startTimers() {
        if !areTimersRunning.cache, !state.isCacheEmpty {
            areTimersRunning.cache = true
            context.reactor.schedule(after: Self.cacheInterval, self, tag: Task.cache.rawValue)
        }
        if !areTimersRunning.counts, !state.areCountsAnnounced {
            areTimersRunning.counts = true
            context.reactor.schedule(after: Self.countInterval, self, tag: Task.counts.rawValue)
        }
        if !areTimersRunning.resumes, throttle.waitingCount > 0 {
            areTimersRunning.resumes = true
            context.reactor.schedule(after: Self.resumesInterval, self, tag: Task.resumes.rawValue)
        }
        if !areTimersRunning.departures, let due = state.nextDeparture {
            areTimersRunning.departures = true
            let delay = Duration.milliseconds(max(1, due - context.milliseconds))
            context.reactor.schedule(
                after: min(delay, Self.departuresInterval),
                self,
                tag: Task.departures.rawValue
            )
        }
    }

    /// Removes the members that have not returned in time.
    private func removeDeparted() {
        let departed = state.takeDeparted(atMost: Self.departuresMax, at: context.milliseconds)
        for departure in departed {
            let address = departure.address
            guard let channel = table[address] else { continue }
            let effects = channel.home.removeDeparted(
                departure.user,
                at: address,
                of: context.registry.apps[address.app],
                sharing: state
            )
            perform(effects, on: channel, at: address)
        }
    }

    package func timerFired(tag: Int) {
        switch Task(rawValue: tag) {
        case .cache:
            areTimersRunning.cache = false
            state.removeExpired(at: context.milliseconds)
        case .counts:
            areTimersRunning.counts = false
            for address in state.takeDueCounts(at: context.milliseconds) {
                guard let channel = table[address] else { continue }
                let app = context.registry.apps[address.app]
                perform(
                    channel.home.announceCount(of: address, of: app),
                    on: channel,
                    at: address
                )
            }
        case .resumes: areTimersRunning.resumes = false
        case .departures:
            areTimersRunning.departures = false
            removeDeparted()
        case nil: break
        }
        startTimers()
    }
}
