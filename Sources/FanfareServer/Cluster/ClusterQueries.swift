import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis

// Queries: any node answers for all nodes, from Redis.
extension ClusterHome {
    /// Answers a query when Redis has answered; without Redis it waits for ``ClusterSettings/patience``.
    func answer(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void) {
        let query = ClusterQuery(query, finish)
        queries[ObjectIdentifier(query)] = query
        ask(query)
        if query.isWaiting, stores.contains(where: \.isOutOfPatience) { refuseWaitingQueries() }
    }

    /// Refuses the queries and lists that wait for a store that has been unreachable for longer than messages wait.
    func refuseWaitingQueries() {
        for query in queries.values
        where query.isWaiting && partitions(of: query).contains(where: isOutOfPatience) {
            guard queries.removeValue(forKey: ObjectIdentifier(query)) != nil else { continue }
            query.finish(.failure(.isUnreadable))
        }
        // The first one waits for the store, and the others for the first.
        guard lists.first?.isWaiting == true, partitions.indices.contains(where: isOutOfPatience)
        else { return }
        for listing in exchange(&lists, with: []) { listing.finish(.unreadable) }
    }

    private func isOutOfPatience(_ partition: Int) -> Bool {
        partitions[partition].store.isOutOfPatience
    }

    private func partitions(of query: ClusterQuery) -> [Int] {
        switch query.query {
        case .counts(let addresses): addresses.map { partition(of: $0) }
        case .terminate(let user): [partition(of: user)]
        default: query.query.address.map { [partition(of: $0)] } ?? []
        }
    }

    /// Sends the query to Redis, also again after a loss of the connection.
    func ask(_ query: ClusterQuery) {
        let addresses: [ChannelAddress] =
            if case .counts(let addresses) = query.query {
                addresses
            } else {
                query.query.address.map { [$0] } ?? []
            }
        query.isWaiting = !partitions(of: query).allSatisfy(isOpen)
        guard !query.isWaiting else { return }
        (query.counts, query.missing, query.isRefused) = ([], 0, false)
        (query.messages, query.length, query.hasMore) = ([], 0, false)
        (query.isDamaged, query.oldest, query.oldestRange) = (false, nil, nil)
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
                try connection.send(calls.purge(channel, begins: begins, rules(of: address)))
            }
        }
    }

    private func isOpen(_ partition: Int) -> Bool { partitions[partition].store.isOpen }

    func keys(of address: ChannelAddress) -> (PartitionKeys, ClusterChannel) {
        (
            partitions[partition(of: address)].calls.keys,
            ClusterChannel(app: address.app.text, name: address.name.text)
        )
    }

    func read(
        _ query: ClusterQuery,
        _ part: ClusterQuery.Part,
        of address: ChannelAddress,
        _ command: String,
        _ key: RedisKey,
        _ arguments: String...
    ) {
        let purpose = ClusterCall.query(query, part, attempt: query.attempt)
        let command = [command, "\(key)"] + arguments
        asked(query, read(command, in: partition(of: address), as: purpose))
    }

    /// Reads the newest position of a channel, whose stream begins if there is none.
    private func readPosition(_ query: ClusterQuery, of address: ChannelAddress) {
        let (partition, (_, channel)) = (partition(of: address), keys(of: address))
        read(query, .position, in: partition) { connection throws(RedisCallError) in
            try connection.send(
                partitions[partition].calls.beginStream(of: channel, rules(of: address))
            )
        }
    }

    private func read(
        _ query: ClusterQuery,
        _ part: ClusterQuery.Part,
        in partition: Int,
        _ call: (RedisConnection) throws(RedisCallError) -> CallID
    ) {
        let purpose = ClusterCall.query(query, part, attempt: query.attempt)
        asked(query, send(to: partition, as: purpose, call))
    }

    private func asked(_ query: ClusterQuery, _ isSent: Bool) {
        if isSent { query.missing += 1 } else { query.isWaiting = true }
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
            query.isRefused = true
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
            reply.forEach {
                if $0.clampedCount == nil { refused("a number of subscriptions", for: query) }
                count = min(count + Int($0.clampedCount ?? 0), Int(SafeInteger.max))
            }
            query.counts[index].subscriptionCount = count
        case .members(let index): query.counts[index].userCount = Int(reply.clampedCount ?? 0)
        case .users:
            var users: [UserID] = []
            reply.forEach { users.append(UserID($0.text)) }
            query.counts[0].users = users
        case .cachedEvent:
            query.counts[0].cache = .empty
            query.cachedData = ChannelAnnouncement(reply.copy())?.content.envelope?.dataToken
            if query.cachedData == nil, !reply.isNull { refused("a cached event", for: query) }
        case .cachedExpiry:
            let rest = (reply.double ?? 0) - Double(context.reactor.unixMilliseconds)
            guard let data = query.cachedData, rest > 0 else { return }
            let seconds = Int(min(rest / 1_000, Double(SafeInteger.max)).rounded(.up))
            query.counts[0].cache = .event(dataToken: data, secondsLeft: seconds)
        case .oldest: readOldest(reply, for: query)
        case .position:
            guard let newest = StreamPosition(reply) else {
                query.isRefused = true
                return refused("the position of a channel", for: query)
            }
            query.counts[0].position = ChannelPosition(newest)
            readMessages(query, in: newest)
        case .lastPosition:
            let positions = StreamPositions(reply)
            guard let positions, !positions.isDamaged else {
                query.isRefused = true
                return refused("the position of a channel", for: query)
            }
            guard let newest = positions.newest.first, let newest else { return }
            query.counts[0].position = ChannelPosition(newest)
            readMessages(query, in: newest)
        case .messages(let countMax): readHistory(reply, for: query, countMax: countMax)
        case .termination: break
        case .purge:
            query.counts[0].position = StreamPosition(reply).flatMap { ChannelPosition($0) }
            if query.counts[0].position == nil, !reply.isNull {
                query.isRefused = true
                refused("the position of a channel", for: query)
            }
        }
    }

    /// Counts a damaged part of the answer.
    func refused(_ what: String, for query: ClusterQuery) {
        guard let partition = partitions(of: query).first else { return }
        refused(what, by: partitions[partition].store)
    }

    private func finishIfComplete(_ query: ClusterQuery) {
        if query.missing == 0, !query.isWaiting, !query.isRefused { searchOldest(query) }
        guard query.missing == 0, !query.isWaiting,
            queries.removeValue(forKey: ObjectIdentifier(query)) != nil
        else { return }
        guard !query.isRefused else { return query.finish(.failure(.isUnreadable)) }
        if let position = query.counts.first?.position {
            switch query.query {
            case .history: finishHistory(query, upTo: position)
            case .trace(_, let serial): finishTrace(query, of: serial, upTo: position)
            case .counts, .users, .cached, .state, .purge, .terminate: break
            }
        }
        query.finish(.success(query.counts))
    }
}

extension [UInt8] {
    /// The data of an event, as a JSON string with its quotes; `nil` if the bytes are not an event.
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
