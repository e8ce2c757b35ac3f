import Broker
import Net
import PusherProtocol

/// The channels of one shard: the subscribers connected to it, and the homes of the channels that it owns.
///
/// `ChannelHome` decides; this class performs its effects. The extensions contain publishing and congestion.
final class ChannelService: TimerTarget {
    let context: ShardContext
    let connections: Connections
    // Exclusive access is not checked: the values call nothing while they change.
    @exclusivity(unchecked) var table: ChannelTable
    @exclusivity(unchecked) var state: HomeShardState
    /// What the archive has to write first; `nil` without an archive.
    let commits: CommitQueue?
    /// What waits for messages of the archive.
    var archiveReads = ArchiveReads()
    /// Sends the answer to a query that has waited for the archive.
    var answerQuery: ([ChannelCount], QueryReply) -> Void = { _, _ in }
    let deflaters: SharedDeflaters
    /// The clients with session tokens that have something to confirm.
    let confirmations: Confirmations
    let records: DeliveryRecords
    private var leaves: LeaveQueue
    private var areTimersRunning = (cache: false, counts: false, expiry: false)
    /// Triggers whose events are not all sequenced yet.
    var triggers = PendingTriggers()
    /// The subscriptions that wait for the replays of others.
    @exclusivity(unchecked) var throttle = ReplayThrottle()
    /// The backlogs with queued events, whose triggers have a deadline.
    var backlogs: [ObjectIdentifier: ChannelBacklog] = [:]

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
        commits = context.archive.map {
            CommitQueue(
                $0,
                shard: context.shard,
                continuesInMemory: context.settings.continuesInMemory
            )
        }
        deflaters = SharedDeflaters(options: context.settings.deflate)
        records = DeliveryRecords(context)
        leaves = LeaveQueue(context.settings.leaving)
        confirmations = Confirmations(context)
    }

    /// Called after the apps of the context were replaced.
    ///
    /// - Parameter former: The apps that were served.
    func appsWereReplaced(_ former: AppRegistry) {
        state.reportsCacheMisses = context.isObserved(.cacheMisses)
        guard commits != nil else {
            return state.replaceSettings(of: context.registry.apps.all)
        }
        for id in former.ids { state.apply(context.registry.apps[id]?.recovery, to: id) }
    }

    /// Drops pending triggers and queued events, when the shard has stopped.
    func dropPending() {
        archiveReads = ArchiveReads()
        commits?.dropAll()
        triggers.removeAll()
        throttle.removeAll()
        backlogs = [:]
    }

    // MARK: - Subscribing

    /// Requests a subscription from the channel's home.
    func subscribe(
        _ connection: Connection,
        to channel: ChannelName,
        as member: Member?,
        from position: PositionRequest?,
        request: UInt32
    ) {
        let address = ChannelAddress(app: connection.app.id, name: channel)
        if let position { records.requested(connection, address, as: member, from: position) }
        let request = SubscriptionRequest(
            shard: context.shard,
            socketID: connection.socketID,
            number: request
        )
        if position != nil || context.registry.replaysOpenings,
            throttles(request, to: address, as: member, from: position, of: connection.app)
        {
            return
        }
        send(request, to: address, as: member, from: position)
    }

    /// Sends a request for a subscription to the channel's home.
    func send(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest?
    ) {
        let home = address.home(among: context.shardCount)
        if home == context.shard {
            addSubscriber(request, to: address, as: member, from: position)
        } else if let position {
            context.links.send(.subscribeFrom(position, address, request, member), to: home)
        } else if let member {
            context.links.send(.subscribeAsMember(address, request, member), to: home)
        } else {
            context.links.send(.subscribe(address, request), to: home)
        }
    }

    /// At the home: adds a subscriber, or refuses it.
    func addSubscriber(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest? = nil,
        behind archived: ArchivedMessages? = nil
    ) {
        if commits != nil,
            waitsForArchive(request, to: address, as: member, from: position, archived)
        {
            return
        }
        let channel = table.open(address)
        let subscriber = Subscriber(
            request.socketID,
            shard: request.shard,
            member: member,
            position: position
        )
        let effects = channel.home.subscribe(
            subscriber,
            to: address,
            of: app(of: address, isTracked: position != nil),
            sharing: &state,
            behind: archived ?? ArchivedMessages(),
            at: context.milliseconds
        )
        perform(effects, on: channel, at: address, for: request)
        // The channel may have been created only for a connection that is refused.
        closeIfVacant(channel, at: address)
    }

    /// Completes a subscription that the home of another shard has granted.
    func complete(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        _ grant: Grant
    ) {
        let channel = table.open(address)
        complete(request, to: channel, grant)
        closeIfVacant(channel, at: address)
    }

    /// Sends a grant to the subscriber's client, and adds the client to the fan-out of this shard.
    private func complete(_ request: SubscriptionRequest, to channel: Channel, _ grant: Grant) {
        recordReplay(grant, of: request, on: channel.name)
        // If the connection has closed meanwhile, it has unsubscribed at the home already.
        if let connection = connections[request.socketID],
            connection.granted(channel.name, grant, request: request.number)
        {
            channel.add(connection.stream, windowBits: connection.sharedWindowBits)
            if connection.isKept(channel.name) { channel.addConfirming(connection) }
            records.subscribed(connection, to: channel.name, grant)
        }
    }

    /// Reports the refusal of a subscription to the client.
    func refuse(_ request: SubscriptionRequest, to address: ChannelAddress, membersMax: Int) {
        throttle.answered(request.socketID, on: address.name)
        connections[request.socketID]?
            .refused(address.name, request: request.number, membersMax: membersMax)
    }

    // MARK: - Unsubscribing

    /// Unsubscribes a connection from a channel, here and at the home.
    func unsubscribe(_ connection: Connection, from channel: ChannelName) {
        let address = ChannelAddress(app: connection.app.id, name: channel)
        unsubscribe(connection.socketID, connection.stream, from: address)
    }

    /// Unsubscribes a closing connection from all its channels, at once or in portions.
    ///
    /// No event sent from now on reaches its stream.
    func unsubscribeAll(_ subscriptions: Subscriptions, of connection: Connection) {
        let (stream, app) = (connection.stream, connection.app.id)
        guard subscriptions.count > leaves.settings.atOnceMax, !context.reactor.hasShutDown else {
            subscriptions.forEachChannel {
                let address = ChannelAddress(app: app, name: $0)
                unsubscribe(connection.socketID, stream, from: address)
            }
            return
        }
        stream.detachFromGroups()
        leaves.append(subscriptions, stream, connection.socketID, app)
    }

    /// The number of closed connections that are still subscribed to channels.
    var leavingCount: Int { leaves.count }

    /// Unsubscribes closed connections from one portion of channels.
    func advanceLeaves() {
        guard !leaves.isEmpty else { return }
        for _ in 0..<leaves.settings.portionMax {
            guard let (address, stream, socketID) = leaves.popNext() else { return }
            unsubscribe(socketID, stream, from: address)
        }
    }

    private func unsubscribe(_ id: SocketID, _ stream: Stream, from address: ChannelAddress) {
        guard !throttle.withdraw(id, from: address.name) else { return }
        // A home drops a request that waits for the archive: no answer comes.
        throttle.answered(id, on: address.name)
        let home = address.home(among: context.shardCount)
        if let channel = table[address] {
            records.unsubscribed(id, from: address.name, at: channel.lastSerial)
            channel.remove(stream)
            channel.removeConfirming(id)
            if home == context.shard,
                !waitsForArchive(unsubscriptionOf: id, of: context.shard, at: address)
            {
                removeSubscriber(id, from: channel, of: context.shard, at: address)
            }
            closeIfVacant(channel, at: address)
        } else if home == context.shard {
            // Before its grant the channel may not exist.
            _ = waitsForArchive(unsubscriptionOf: id, of: context.shard, at: address)
        }
        if home != context.shard {
            context.links.send(.unsubscribe(address, shard: context.shard, id), to: home)
        }
    }

    /// At the home: removes a subscriber of another shard.
    func removeSubscriber(_ id: SocketID, of shard: Int, at address: ChannelAddress) {
        guard !waitsForArchive(unsubscriptionOf: id, of: shard, at: address) else { return }
        guard let channel = table[address] else { return }
        removeSubscriber(id, from: channel, of: shard, at: address)
        closeIfVacant(channel, at: address)
    }

    private func removeSubscriber(
        _ id: SocketID,
        from channel: Channel,
        of shard: Int,
        at address: ChannelAddress
    ) {
        let effects = channel.home.unsubscribe(
            id,
            from: shard,
            at: address,
            of: app(of: address),
            sharing: &state,
            now: context.milliseconds
        )
        context.notify(.subscriptions, on: address, .unsubscribed(id))
        perform(effects, on: channel, at: address)
    }

    /// Removes a channel without subscribers.
    private func closeIfVacant(_ channel: Channel, at address: ChannelAddress) {
        guard channel.isVacant else { return }
        flushBacklog(of: channel, at: address)
        table.close(address)
    }

    // MARK: - Effects of a home

    /// Performs the effects of a home.
    ///
    /// - Parameters:
    ///   - effects: The effects, in order.
    ///   - channel: The channel; `nil` if it does not exist.
    ///   - address: The channel's address.
    ///   - request: The subscription request that caused them, if any.
    func perform(
        _ effects: [ChannelHome.Effect],
        on channel: Channel?,
        at address: ChannelAddress,
        for request: SubscriptionRequest? = nil
    ) {
        for effect in effects {
            switch effect {
            case .grant(let grant):
                if let request, let channel { send(grant, for: request, of: channel, at: address) }
            case .refuse(let membersMax):
                if let request { sendRefusal(of: request, at: address, membersMax: membersMax) }
            case .fanOut(let notice, let delayMax):
                guard let channel else { continue }
                let frame = EventFrame(notice, delayMax: UInt16(clamping: delayMax))
                distribute(frame, on: channel, at: address, except: nil)
            case .notify(let event):
                if event == .occupied { table.becameOccupied(address) }
                if event == .vacated { table.becameVacant(address) }
                context.notify(event.kind, on: address, event)
            case .limitMet(let limit): context.limitMet(limit)
            }
        }
        startTimers()
    }

    private func send(
        _ grant: ChannelHome.Grant,
        for request: SubscriptionRequest,
        of channel: Channel,
        at address: ChannelAddress
    ) {
        if grant.isTracked, case .gap(let gap) = grant.replay?.start.continuity {
            context.notify(.gaps, of: address.app, .gapTold(request.socketID, address, gap))
        }
        let grant = Grant(grant, on: address.name)
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

    private func sendRefusal(
        of request: SubscriptionRequest,
        at address: ChannelAddress,
        membersMax: Int
    ) {
        if request.shard == context.shard {
            refuse(request, to: address, membersMax: membersMax)
        } else {
            let message = ShardMessage.refused(address, request, membersMax: membersMax)
            context.links.send(message, to: request.shard)
        }
    }

    /// The app of a channel, if the home needs it; most subscriptions do not need the lookup.
    private func app(of address: ChannelAddress, isTracked: Bool = false) -> App? {
        let (kind, registry) = (address.name.kind, context.registry)
        guard
            isTracked || registry.announcesCounts || registry.replaysOpenings || kind.isPresence
                || kind.isCache
        else { return nil }
        return context.registry.apps[address.app]
    }

    // MARK: - Cache channels

    /// At the home: caches an event for later subscribers.
    func cache(
        _ publication: Publication,
        in stream: Int?,
        on channel: Channel?,
        at address: ChannelAddress
    ) {
        let effects = state.cache(
            publication,
            numbered: stream.map { state.nextPosition($0) },
            on: address,
            of: context.registry.apps[address.app],
            at: context.milliseconds
        )
        perform(effects, on: channel, at: address)
    }

    /// At the home: checks the idempotency key of an event.
    func check(
        _ key: IdempotencyKey,
        digest: UInt64,
        at address: ChannelAddress
    ) -> PublishedKeys.Verdict {
        state.check(key, digest: digest, on: address, at: context.milliseconds)
    }

    /// At the home: remembers the new idempotency key of an event that is sequenced.
    func remember(
        _ key: IdempotencyKey,
        digest: UInt64,
        position: ChannelPosition?,
        at address: ChannelAddress
    ) {
        let effects = state.remember(
            key,
            digest: digest,
            position: position,
            on: address,
            of: context.registry.apps[address.app],
            at: context.milliseconds
        )
        perform(effects, on: nil, at: address)
    }

    // MARK: - Streams

    /// At the home: the index of the stream that a message belongs to; `nil` if its channel has none, as most.
    func stream(of channel: Channel?, at address: ChannelAddress) -> Int? {
        if let channel, let stream = channel.home.stream { return stream }
        let keepsAlways = context.registry.keepsMessagesAlways
        guard channel == nil ? keepsAlways || !state.streams.isEmpty : keepsAlways else {
            return nil
        }
        let app = keepsAlways ? context.registry.apps[address.app] : nil
        guard let channel else {
            let stream = state.stream(ofVacant: address, app, at: context.milliseconds)
            startTimers()
            return stream
        }
        channel.home.keepAlways(address, app, sharing: &state, at: context.milliseconds)
        return channel.home.stream
    }

    /// At the home: the index of the channel's stream, which begins here if the channel has none; `nil` in an app without
    /// recovery.
    func openStream(at address: ChannelAddress) -> Int? {
        let (app, now) = (context.registry.apps[address.app], context.milliseconds)
        defer { startTimers() }
        guard let channel = table[address], !channel.home.isVacant else {
            return state.openStream(address, app, isVacant: true, at: now)
        }
        channel.home.openStream(address, app, sharing: &state, at: now)
        return channel.home.stream
    }

    /// At the home: keeps a numbered message.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - except: A connection that does not get it.
    ///   - stream: The index of the stream.
    ///   - time: When it got its number; `nil` for now.
    func keep(_ frame: EventFrame, except: SocketID?, in stream: Int, at time: Int64? = nil) {
        let now = time ?? context.milliseconds
        if let limit = state.keep(frame.bytes, except: except, in: stream, at: now) {
            context.limitMet(limit)
        }
    }

    /// How long the messages of each app are kept at present, in seconds.
    var recoveryWindows: [AppID: Int] {
        var windows: [AppID: Int] = [:]
        for app in context.registry.ids {
            windows[app] = state.streams.window(of: app, at: context.milliseconds)
        }
        return windows
    }

    // MARK: - Timers

    /// The tag of the timer of each task.
    private enum Task: Int { case cache, counts, expiry }

    /// The time between two removals of expired events; an expired event is never sent.
    private static var cacheInterval: Duration { .seconds(15) }
    /// The maximum delay of a large channel's subscription count.
    private static var countInterval: Duration { .seconds(1) }
    /// The maximum delay of the refusal of an expired trigger.
    private static var expiryInterval: Duration { .milliseconds(250) }

    /// Whether there are no cached events, and no timer is running for them.
    var isCacheAtRest: Bool { state.isCacheEmpty && !areTimersRunning.cache }

    /// Whether no subscription count is pending, and no timer is running for one.
    var areCountsAtRest: Bool { state.areCountsAnnounced && !areTimersRunning.counts }

    /// Starts the timers of pending work; without any, none is running.
    func startTimers() {
        if !areTimersRunning.cache, !state.isCacheEmpty {
            areTimersRunning.cache = true
            context.reactor.schedule(after: Self.cacheInterval, self, tag: Task.cache.rawValue)
        }
        if !areTimersRunning.counts, !state.areCountsAnnounced {
            areTimersRunning.counts = true
            context.reactor.schedule(after: Self.countInterval, self, tag: Task.counts.rawValue)
        }
        if !areTimersRunning.expiry, !backlogs.isEmpty {
            areTimersRunning.expiry = true
            context.reactor.schedule(after: Self.expiryInterval, self, tag: Task.expiry.rawValue)
        }
    }

    func timerFired(tag: Int) {
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
        case .expiry:
            areTimersRunning.expiry = false
            expireTriggers()
        case nil: break
        }
        startTimers()
    }
}
