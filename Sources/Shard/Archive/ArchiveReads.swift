import Broker
import PusherProtocol

/// The subscriptions and queries of one home shard that wait for messages of the archive.
struct ArchiveReads {
    /// A waiting subscription or query.
    enum Waiting {
        case subscription(Subscription)
        /// A query, and the number of its channel's stream in the archive.
        case query(ShardQuery, row: Int64, QueryReply)
    }

    /// A subscription that needs messages which are no longer in memory.
    struct Subscription {
        var request: SubscriptionRequest
        let address: ChannelAddress
        let member: Member?
        /// `nil` for a client that does not track the channel.
        let position: PositionRequest?
        let read = ArchiveRead()
        /// The number of attempts; the oldest messages in memory may be dropped while the archive reads.
        var attempts = 1
    }

    /// The maximum number of attempts; after these the client is notified of a gap.
    static let attemptsMax = 5

    private var waiting: [UInt64: Waiting] = [:]
    private var last: UInt64 = 0

    /// The number of waiting subscriptions and queries.
    var count: Int { waiting.count }

    /// Adds an item that waits, and returns its number.
    mutating func add(_ item: Waiting) -> UInt64 {
        last += 1
        waiting[last] = item
        return last
    }

    /// Removes and returns the item that waits for a reply.
    mutating func remove(_ number: UInt64) -> Waiting? { waiting.removeValue(forKey: number) }

    /// Removes the subscription of a connection that has unsubscribed meanwhile, and returns whether it was waiting.
    mutating func removeSubscription(of id: SocketID, to address: ChannelAddress) -> Bool {
        guard !waiting.isEmpty else { return false }
        let found = waiting.first { _, item in
            guard case .subscription(let subscription) = item else { return false }
            return subscription.request.socketID == id && subscription.address == address
        }
        guard let found else { return false }
        if case .subscription(let subscription) = found.value { subscription.read.cancel() }
        waiting[found.key] = nil
        return true
    }
}

extension ChannelService {
    /// Whether a subscription waits and continues later.
    ///
    /// It waits for held entries of the channel, for the ID of its stream to be written, or for messages of the
    /// archive. The position is that of a client that tracks the channel. `archived` is the archive's answer, and `nil`
    /// before the archive was read.
    func waitsForArchive(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest?,
        _ archived: ArchivedMessages?
    ) -> Bool {
        guard let commits else { return false }
        if let recovery = context.registry.apps[address.app]?.recovery, recovery.hasArchive,
            recovery.rule(of: address.name).store == .archive,
            position != nil || recovery.rule(of: address.name).opening != .live,
            let stream = openStream(at: address)
        {
            holdOpening(stream, at: address, isLazy: true)
            if archived == nil, !commits.mustWait(at: address) {
                return askArchive(
                    ArchiveReads.Subscription(
                        request: request,
                        address: address,
                        member: member,
                        position: position
                    ),
                    stream
                )
            }
        }
        guard archived == nil, commits.mustWait(at: address) else { return false }
        commits.append(.subscribe(request, member, position), on: address)
        return true
    }

    /// Whether an unsubscription needs no further work now.
    ///
    /// It waits for held entries of the channel, or its subscription was waiting and is dropped.
    func waitsForArchive(
        unsubscriptionOf id: SocketID,
        of shard: Int,
        at address: ChannelAddress
    ) -> Bool {
        guard let commits else { return false }
        if archiveReads.removeSubscription(of: id, to: address) { return true }
        guard commits.mustWait(at: address) else { return false }
        commits.append(.unsubscribe(id, shard: shard), on: address)
        return true
    }

    /// Requests from the archive what a subscription has missed, if that is no longer in memory.
    private func askArchive(_ subscription: ArchiveReads.Subscription, _ stream: Int) -> Bool {
        guard let app = context.registry.apps[subscription.address.app] else { return false }
        var request = subscription.position
        if let position = request?.position {
            request?.position = app.position(issuedAs: position, on: subscription.address.name)
        }
        guard
            let query = state.streams[stream]
                .archiveQuery(
                    for: request,
                    app.recovery,
                    at: context.milliseconds,
                    calendarOffset: context.calendarOffset
                )
        else { return false }
        read(query, subscription.read, for: .subscription(subscription))
        return true
    }

    private func read(_ query: ArchiveQuery, _ read: ArchiveRead, for item: ArchiveReads.Waiting) {
        let number = archiveReads.add(item)
        context.archive?.post(.read(query, read, shard: context.shard, number: number))
    }

    /// Requests the data of a query from the archive, if it is not all in memory, and makes the archive drop what a
    /// purge drops.
    ///
    /// - Returns: Whether the answer follows later.
    func askArchive(_ query: ShardQuery, _ reply: QueryReply) -> Bool {
        if case .purge(let address) = query { return waitsForArchive(purgeOf: address, reply) }
        guard commits != nil, let address = query.address, keepsMessages(at: address) else {
            return false
        }
        let stored: ArchiveQuery?
        var read = ArchiveRead()
        switch query {
        case .history(_, let page, let asked):
            read = asked
            stored = openStream(at: address)
                .flatMap {
                    state.streams[$0].archiveQuery(
                        for: page,
                        at: context.milliseconds,
                        calendarOffset: context.calendarOffset
                    )
                }
        case .trace(_, let serial):
            stored = state.streams.index(of: address)
                .flatMap { state.streams[$0].archiveQuery(forMessage: serial) }
        case .counts, .users, .cached, .state, .purge, .terminate: stored = nil
        }
        guard let stored else { return false }
        self.read(stored, read, for: .query(query, row: stored.row, reply))
        return true
    }

    /// Continues an item that has waited for the archive.
    func receive(_ page: ArchivePage?, of number: UInt64) {
        switch archiveReads.remove(number) {
        case nil: break
        case .subscription(var subscription):
            var messages = page.map { Array($0.messages.reversed()) } ?? []
            let stream = openStream(at: subscription.address)
            if let stream {
                // The file removes them later.
                messages.removeAll(
                    olderThan: state.streams[stream]
                        .keptSince(context.milliseconds, calendarOffset: context.calendarOffset)
                )
            }
            var archived = ArchivedMessages(messages)
            if let stream, !state.streams[stream].isContinuous(behind: archived) {
                subscription.attempts += 1
                if subscription.attempts <= ArchiveReads.attemptsMax,
                    askArchive(subscription, stream)
                {
                    return
                }
                // Messages missing between the file and memory are a gap that no attempt has closed.
                archived = ArchivedMessages()
            }
            subscription.request.read = subscription.read
            addSubscriber(
                subscription.request,
                to: subscription.address,
                as: subscription.member,
                from: subscription.position,
                behind: archived
            )
        case .query(let query, let row, let reply): answer(query, reply, with: page, of: row)
        }
    }

    /// Answers a query with the archive's data of the stream with a number.
    ///
    /// If the channel has continued in another stream meanwhile, the query is about that one. The app may also have
    /// lost its recovery.
    private func answer(
        _ query: ShardQuery,
        _ reply: QueryReply,
        with page: ArchivePage?,
        of row: Int64
    ) {
        guard let address = query.address, keepsMessages(at: address),
            let stream = state.streams.index(of: address), state.streams[stream].row == row
        else {
            if !askArchive(query, reply) { answerQuery(answer(query), reply) }
            return
        }
        guard let page else { return answerQuery([failed(address, .isUnreadable)], reply) }
        var count = count(of: address)
        switch query {
        case .history:
            count.history = state.streams[stream].history(page)
        case .trace(_, let serial):
            count.trace = state.streams[stream]
                .trace(serial, in: page, calendarOffset: context.calendarOffset)
        case .counts, .users, .cached, .state, .purge, .terminate: break
        }
        answerQuery([count], reply)
    }
}
