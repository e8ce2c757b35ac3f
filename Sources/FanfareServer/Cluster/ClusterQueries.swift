import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis

/// A query of a backend for channels whose home is this shard, which Redis answers for all nodes.
final class ClusterQuery {
    let query: ShardQuery
    let finish: ([ChannelCount]) -> Void
    /// The answer so far, one element for each channel.
    var counts: [ChannelCount] = []
    /// The number of unanswered calls.
    var missing = 0
    /// The number of times that Redis was asked; replies to earlier ones do not count.
    var attempt = 0
    /// Whether it is to be asked again, when there is a connection.
    var isWaiting = false
    /// The data of a cached event, whose expiry is not read yet.
    var cachedData: [UInt8]?
    /// The position of the oldest message that is kept, of whichever stream.
    var oldest: StreamPosition?
    /// The position of the newest message.
    var newest: StreamPosition?
    /// What is read of a history so far, and fits.
    var messages: [StoredMessage] = []

    init(_ query: ShardQuery, _ finish: @escaping ([ChannelCount]) -> Void) {
        (self.query, self.finish) = (query, finish)
    }

    /// A part of the answer.
    enum Part {
        /// The subscriptions and the members of a channel, by its index.
        case subscriptions(Int), members(Int)
        case users, cachedEvent, cachedExpiry, oldest, history, purge, termination
        /// The position of a channel that has a stream from now on, and of one that may have one.
        case position, lastPosition
    }
}

// Queries: any node answers for all, from Redis.
extension ClusterHome {
    /// Answers a query when Redis has answered; without Redis it waits.
    func answer(_ query: ShardQuery, _ finish: @escaping ([ChannelCount]) -> Void) {
        let query = ClusterQuery(query, finish)
        queries[ObjectIdentifier(query)] = query
        ask(query)
    }

    /// Asks Redis, also again behind a loss of the connection.
    func ask(_ query: ClusterQuery) {
        let addresses: [ChannelAddress] =
            if case .counts(let addresses) = query.query {
                addresses
            } else {
                query.query.address.map { [$0] } ?? []
            }
        query.isWaiting = !addresses.allSatisfy { isOpen(partition(of: $0)) }
        if case .terminate(let user) = query.query, !isOpen(partition(of: user)) {
            query.isWaiting = true
        }
        guard !query.isWaiting else { return }
        (query.counts, query.messages, query.missing) = ([], [], 0)
        query.attempt += 1
        for (index, address) in addresses.enumerated() {
            query.counts.append(
                ChannelCount(name: address.name, subscriptionCount: 0, userCount: 0)
            )
            let (keys, channel) = keys(of: address)
            read(query, .subscriptions(index), of: address, "HVALS", keys.subscriptions(channel))
            if address.name.kind.isPresence {
                read(query, .members(index), of: address, "HLEN", keys.members(channel))
            }
        }
        if case .terminate(let user) = query.query {
            let call = termination(of: user)
            read(query, .termination, in: partition(of: user)) {
                connection throws(RedisCallError) in
                try connection.send(call)
            }
        }
        guard let address = query.query.address else { return finishIfComplete(query) }
        askForDetails(query, of: address)
        finishIfComplete(query)
    }

    private func askForDetails(_ query: ClusterQuery, of address: ChannelAddress) {
        let (keys, channel) = keys(of: address)
        let calls = partitions[partition(of: address)].calls
        switch query.query {
        case .counts, .terminate: break
        case .users: read(query, .users, of: address, "HKEYS", keys.members(channel))
        case .cached, .state:
            if address.name.kind.isCache {
                let name = address.name.text
                read(query, .cachedEvent, of: address, "HGET", keys.cachedEvents(channel.app), name)
                let expiries = keys.cachedEventExpiries(channel.app)
                read(query, .cachedExpiry, of: address, "ZSCORE", expiries, name)
            }
            guard case .state = query.query, channels.keepsMessages(at: address) else { return }
            readPosition(query, of: address)
        case .history:
            guard channels.keepsMessages(at: address) else {
                return query.counts[0].failure = .keepsNothing
            }
            let messages = keys.messages(channel)
            read(query, .oldest, of: address, "XRANGE", messages, "-", "+", "COUNT", "1")
            readPosition(query, of: address)
        case .trace:
            guard channels.keepsMessages(at: address) else {
                return query.counts[0].failure = .keepsNothing
            }
            read(query, .lastPosition, in: partition(of: address)) {
                connection throws(RedisCallError) in
                try connection.send(calls.positions(of: [channel]))
            }
        case .purge:
            let begins = channels.keepsMessages(at: address)
            read(query, .purge, in: partition(of: address)) { connection throws(RedisCallError) in
                try connection.send(calls.purge(channel, begins: begins))
            }
        }
    }

    private func isOpen(_ partition: Int) -> Bool { partitions[partition].store.isOpen }

    private func keys(of address: ChannelAddress) -> (PartitionKeys, ClusterChannel) {
        (
            partitions[partition(of: address)].calls.keys,
            ClusterChannel(app: address.app.text, name: address.name.text)
        )
    }

    private func read(
        _ query: ClusterQuery,
        _ part: ClusterQuery.Part,
        of address: ChannelAddress,
        _ command: String,
        _ key: RedisKey,
        _ arguments: String...
    ) {
        read(query, part, in: partition(of: address)) { connection throws(RedisCallError) in
            try connection.call([command, "\(key)"] + arguments)
        }
    }

    /// Reads the newest position of a channel, whose stream begins if there is none.
    private func readPosition(_ query: ClusterQuery, of address: ChannelAddress) {
        let (partition, (_, channel)) = (partition(of: address), keys(of: address))
        read(query, .position, in: partition) { connection throws(RedisCallError) in
            try connection.send(partitions[partition].calls.beginStream(of: channel))
        }
    }

    private func read(
        _ query: ClusterQuery,
        _ part: ClusterQuery.Part,
        in partition: Int,
        _ call: (RedisConnection) throws(RedisCallError) -> CallID
    ) {
        let purpose = Call.query(query, part, attempt: query.attempt)
        if send(to: partition, as: purpose, call) {
            query.missing += 1
        } else {
            query.isWaiting = true
        }
    }

    // MARK: - Answers

    func receive(
        _ reply: borrowing RESPView,
        for query: ClusterQuery,
        _ part: ClusterQuery.Part,
        attempt: Int
    ) {
        guard attempt == query.attempt else { return }
        query.missing -= 1
        if RedisError(reply) != nil {
            if !query.counts.isEmpty { query.counts[0].failure = .isUnreadable }
        } else {
            read(reply, for: query, part)
        }
        finishIfComplete(query)
    }

    private func read(
        _ reply: borrowing RESPView,
        for query: ClusterQuery,
        _ part: ClusterQuery.Part
    ) {
        switch part {
        case .subscriptions(let index):
            var count = 0
            reply.forEach { count += Int($0.integer ?? 0) }
            query.counts[index].subscriptionCount = count
        case .members(let index): query.counts[index].userCount = Int(reply.integer ?? 0)
        case .users:
            var users: [UserID] = []
            reply.forEach { users.append(UserID($0.text)) }
            query.counts[0].users = users
        case .cachedEvent:
            query.counts[0].cache = .empty
            query.cachedData = ChannelAnnouncement(reply.copy())?.content.envelope?.dataToken
        case .cachedExpiry:
            let rest = (reply.double ?? 0) - Double(context.reactor.unixMilliseconds)
            guard let data = query.cachedData, rest > 0 else { return }
            let seconds = Int((rest / 1_000).rounded(.up))
            query.counts[0].cache = .event(dataToken: data, secondsLeft: seconds)
        case .oldest: query.oldest = StreamPosition(reply[0][0])
        case .position:
            guard let newest = StreamPosition(reply) else { return }
            query.counts[0].position = ChannelPosition(newest)
            readMessages(query, in: newest)
        case .lastPosition:
            guard let newest = StreamPositions(reply)?.newest.first, let newest else { return }
            query.counts[0].position = ChannelPosition(newest)
            readMessages(query, in: newest)
        case .history: readHistory(reply, for: query)
        case .termination: break
        case .purge:
            query.counts[0].position = StreamPosition(reply).flatMap { ChannelPosition($0) }
        }
    }

    private func finishIfComplete(_ query: ClusterQuery) {
        guard query.missing == 0, !query.isWaiting,
            queries.removeValue(forKey: ObjectIdentifier(query)) != nil
        else { return }
        query.finish(query.counts)
    }

    // MARK: - Messages

    /// Reads messages of a stream.
    ///
    /// - Parameters:
    ///   - query: What is asked for.
    ///   - newest: The position of the newest message.
    ///   - known: The serial up to which messages are read, in the order of the query; `nil` for none.
    private func readMessages(
        _ query: ClusterQuery,
        in newest: StreamPosition,
        behind known: UInt64? = nil
    ) {
        query.newest = newest
        var first: UInt64
        var last: UInt64
        var (isReversed, countMax) = (false, 1)
        switch query.query {
        case .history(_, let page):
            first = page.after.map { $0 + 1 } ?? 1
            last = min(newest.serial, page.before.map { $0 &- 1 } ?? .max)
            isReversed = page.isNewestFirst
            if let known { if isReversed { last = known - 1 } else { first = known + 1 } }
            // Times are not in the order of the index; few queries ask for them.
            countMax = page.since == nil && page.until == nil ? page.limit + 1 : .max
        case .trace(_, let serial): (first, last) = (serial, serial)
        case .counts, .users, .cached, .state, .purge, .terminate: return
        }
        guard first <= last, last > 0, let address = query.query.address else {
            return finishHistory(query.messages, hasMore: false, for: query)
        }
        let (keys, channel) = keys(of: address)
        let range = [first, last].map {
            StreamPosition(stream: newest.stream, serial: $0).description
        }
        let key = keys.messages(channel)
        let count = "\(min(countMax, HistoryQuery.limitMax + 1))"
        if isReversed {
            read(query, .history, of: address, "XREVRANGE", key, range[1], range[0], "COUNT", count)
        } else {
            read(query, .history, of: address, "XRANGE", key, range[0], range[1], "COUNT", count)
        }
    }

    private func readHistory(_ reply: borrowing RESPView, for query: ClusterQuery) {
        var messages: [StoredMessage] = storedMessages(reply)
        switch query.query {
        case .history(_, let page):
            let known = messages.last?.serial
            messages.removeAll { $0.time < page.since ?? .min || $0.time > page.until ?? .max }
            query.messages += messages
            let hasMore = query.messages.count > page.limit
            if !hasMore, reply.count > HistoryQuery.limitMax, let known, let newest = query.newest {
                return readMessages(query, in: newest, behind: known)
            }
            finishHistory(Array(query.messages.prefix(page.limit)), hasMore: hasMore, for: query)
        default: finishHistory(messages, hasMore: false, for: query)
        }
    }

    /// The serial of the oldest message of a stream that is kept.
    private func oldestSerial(_ oldest: StreamPosition, at position: ChannelPosition) -> UInt64 {
        // Something of a stream before it is kept, so nothing of this one is gone.
        "\(oldest.stream)" == position.stream.text ? max(1, oldest.serial) : 1
    }

    private func finishHistory(
        _ messages: [StoredMessage],
        hasMore: Bool,
        for query: ClusterQuery
    ) {
        guard let position = query.counts[0].position else { return }
        if case .trace(_, let serial) = query.query {
            let message = messages.first
            query.counts[0].trace = TracedMessage(
                ChannelPosition(stream: position.stream, serial: serial),
                last: position.serial,
                time: message.map { $0.time - context.calendarOffset },
                published: message?.time,
                except: message?.except
            )
            return
        }
        query.counts[0].history = HistoryPage(
            position,
            oldest: query.oldest.map { oldestSerial($0, at: position) } ?? position.serial + 1,
            messages: messages.map { message in
                let text = Array(message.frame[EventFrame.headerLength(message.frame)...])
                return HistoryPage.Message(serial: message.serial, time: message.time, text: text)
            },
            hasMore: hasMore
        )
    }
}

extension [UInt8] {
    /// The data of an event, as a JSON string with its quotes; `nil` if these are not the bytes of an event.
    fileprivate var dataToken: [UInt8]? {
        var scanner = JSONScanner()
        guard (try? scanner.beginObject(in: span)) != nil else { return nil }
        while let name = try? scanner.nextName(in: span),
            let value = try? scanner.value(in: span)
        {
            if name.equals("data", in: span) { return value.token(in: span) }
        }
        return nil
    }
}
