import Broker
import PusherProtocol

/// The subscriptions and queries of one home shard that wait for messages of the archive.
struct ArchiveReads {
    /// A waiting subscription or query.
    enum Waiting {
        case subscription(Subscription)
        /// A query, and the number of its channel's stream in the archive.
        case query(ShardQuery, row: Int64, (HomeAnswer) -> Void)
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

extension StoredChannels {
    /// Requests from the archive what a subscription has missed, if that is no longer in memory.
    func ask(for subscription: ArchiveReads.Subscription, _ stream: Int) -> Bool {
        guard let app = context.registry.apps[subscription.address.app] else { return false }
        var request = subscription.position
        if let position = request?.position {
            request?.position = app.position(issuedAs: position, on: subscription.address.name)
        }
        guard
            let query = channels.state.streams[stream]
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
        let number = reads.add(item)
        context.archive?.post(.read(query, read, shard: context.shard, number: number))
    }

    /// Answers a query at once, or when the archive has read what is not in memory, or recorded a purge.
    func answer(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void) {
        if case .purge(let address) = query { return purge(address, finish) }
        guard !ask(query, finish) else { return }
        local.answer(query, finish)
    }

    /// Requests the data of a query from the archive, if it is not all in memory; returns whether it does so.
    private func ask(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void) -> Bool {
        guard let address = query.address, context.keepsMessages(at: address) else {
            return false
        }
        let stored: ArchiveQuery?
        var read = ArchiveRead()
        switch query {
        case .history(_, let page, let asked):
            read = asked
            stored = channels.openStream(at: address)
                .flatMap {
                    channels.state.streams[$0].archiveQuery(
                        for: page,
                        at: context.milliseconds,
                        calendarOffset: context.calendarOffset
                    )
                }
        case .trace(_, let serial):
            stored = channels.state.streams.index(of: address)
                .flatMap { channels.state.streams[$0].archiveQuery(forMessage: serial) }
        case .counts, .users, .cached, .state, .purge, .terminate: stored = nil
        }
        guard let stored else { return false }
        self.read(stored, read, for: .query(query, row: stored.row, finish))
        return true
    }

    /// Continues an item that has waited for the archive.
    func receive(_ page: ArchivePage?, of number: UInt64) {
        switch reads.remove(number) {
        case nil: break
        case .subscription(var subscription):
            var messages = page.map { Array($0.messages.reversed()) } ?? []
            let stream = channels.openStream(at: subscription.address)
            if let stream {
                // The file removes them later.
                messages.removeAll(
                    olderThan: channels.state.streams[stream]
                        .keptSince(context.milliseconds, calendarOffset: context.calendarOffset)
                )
            }
            var archived = ArchivedMessages(messages)
            if let stream, !channels.state.streams[stream].isContinuous(behind: archived) {
                subscription.attempts += 1
                if subscription.attempts <= ArchiveReads.attemptsMax,
                    ask(for: subscription, stream)
                {
                    return
                }
                // Messages missing between the file and memory are a gap that no attempt has closed.
                archived = ArchivedMessages()
            }
            subscription.request.read = subscription.read
            resume(subscription, behind: archived)
        case .query(let query, let row, let finish): answer(query, finish, with: page, of: row)
        }
    }

    /// Grants a subscription with what the archive has read; the ID of a stream that has begun meanwhile is held.
    private func resume(
        _ subscription: ArchiveReads.Subscription,
        behind archived: ArchivedMessages
    ) {
        _ = openStored(at: subscription.address, by: subscription.position)
        local.add(
            subscription.request,
            to: subscription.address,
            as: subscription.member,
            from: subscription.position,
            behind: archived
        )
    }

    /// Answers a query with the archive's data of the stream with a number.
    ///
    /// If the channel has continued in another stream meanwhile, the query is about that one. The app may also have
    /// lost its recovery.
    private func answer(
        _ query: ShardQuery,
        _ finish: @escaping (HomeAnswer) -> Void,
        with page: ArchivePage?,
        of row: Int64
    ) {
        guard let address = query.address, context.keepsMessages(at: address),
            let stream = channels.state.streams.index(of: address),
            channels.state.streams[stream].row == row
        else { return answer(query, finish) }
        guard let page else { return finish(.failure(.archiveUnreadable)) }
        var count = channels.table.count(of: address)
        switch query {
        case .history:
            count.history = channels.state.streams[stream].history(page)
        case .trace(_, let serial):
            count.trace = channels.state.streams[stream]
                .trace(serial, in: page, calendarOffset: context.calendarOffset)
        case .counts, .users, .cached, .state, .purge, .terminate: break
        }
        finish(.success([count]))
    }
}
