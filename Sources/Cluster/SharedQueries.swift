import Broker
import Net
import Primitives
import PusherProtocol
import RESP
import Redis
import Shard

/// The queries of backends for channels whose home is this shard: any node answers for all nodes, from Redis.
final class SharedQueries {
    let partitions: Partitions
    let rules: SharedRules
    /// The queries that Redis has not answered.
    private var queries: [ObjectIdentifier: PendingQuery] = [:]

    init(_ partitions: Partitions, _ rules: SharedRules) {
        (self.partitions, self.rules) = (partitions, rules)
    }

    /// Forgets all queries, with the shard.
    func removeAll() { queries = [:] }

    /// Answers a query when Redis has answered; without Redis it waits for ``ClusterSettings/patience``.
    func answer(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void) {
        let query = PendingQuery(query, finish)
        queries[ObjectIdentifier(query)] = query
        ask(query)
        if query.isWaiting, partitions.stores.contains(where: \.isOutOfPatience) { refuseWaiting() }
    }

    /// Sends the queries that wait to Redis.
    func resume() {
        for query in queries.values where query.isWaiting { ask(query) }
    }

    /// Refuses the queries that wait for a store that has been unreachable for longer than messages wait.
    func refuseWaiting() {
        for query in queries.values
        where query.isWaiting && indices(of: query).contains(where: isOutOfPatience) {
            guard queries.removeValue(forKey: ObjectIdentifier(query)) != nil else { continue }
            query.finish(.failure(.redisUnreadable))
        }
    }

    private func isOutOfPatience(_ index: Int) -> Bool { partitions[index].store.isOutOfPatience }

    /// The partitions of a query's channels or user.
    private func indices(of query: PendingQuery) -> [Int] {
        switch query.query {
        case .counts(let addresses): addresses.map { partitions.index(of: $0) }
        case .terminate(let user): [partitions.index(of: user)]
        default: query.query.address.map { [partitions.index(of: $0)] } ?? []
        }
    }

    /// Sends the query to Redis, also again after a loss of the connection.
    private func ask(_ query: PendingQuery) {
        let addresses: [ChannelAddress] =
            if case .counts(let addresses) = query.query {
                addresses
            } else {
                query.query.address.map { [$0] } ?? []
            }
        query.isWaiting = !indices(of: query).allSatisfy { partitions[$0].store.isOpen }
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
            let index = partitions.index(of: user)
            let call = partitions[index].calls.terminate(ClusterUser(user))
            send(call, to: index, for: query, .termination)
        }
        guard let address = query.query.address else { return finishIfComplete(query) }
        askForDetails(query, of: address)
        finishIfComplete(query)
    }

    private func askForDetails(_ query: PendingQuery, of address: ChannelAddress) {
        let (keys, channel) = keys(of: address)
        let index = partitions.index(of: address)
        let calls = partitions[index].calls
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
            guard case .state = query.query, partitions.context.keepsMessages(at: address) else {
                return
            }
            readPosition(query, of: address)
        case .history:
            guard partitions.context.keepsMessages(at: address) else {
                return query.counts[0].failure = .keepsNothing
            }
            let messages = keys.messages(channel)
            read(query, .oldest, of: address, "XRANGE", messages, "-", "+", "COUNT", "1")
            readPosition(query, of: address)
        case .trace:
            guard partitions.context.keepsMessages(at: address) else {
                return query.counts[0].failure = .keepsNothing
            }
            send(calls.positions(of: [channel]), to: index, for: query, .lastPosition)
        case .purge:
            let begins = partitions.context.keepsMessages(at: address)
            let call = calls.purge(channel, begins: begins, rules[address])
            send(call, to: index, for: query, .purge)
        }
    }

    func keys(of address: ChannelAddress) -> (PartitionKeys, ClusterChannel) {
        (
            partitions[partitions.index(of: address)].calls.keys,
            ClusterChannel(app: address.app.text, name: address.name.text)
        )
    }

    func read(
        _ query: PendingQuery,
        _ part: PendingQuery.Part,
        of address: ChannelAddress,
        _ command: String,
        _ key: RedisKey,
        _ arguments: String...
    ) {
        let command = [command, "\(key)"] + arguments
        let index = partitions.index(of: address)
        asked(query, partitions.read(command, in: index, as: call(for: query, part)))
    }

    /// Reads the newest position of a channel, whose stream begins if there is none.
    private func readPosition(_ query: PendingQuery, of address: ChannelAddress) {
        let (index, (_, channel)) = (partitions.index(of: address), keys(of: address))
        let call = partitions[index].calls.beginStream(of: channel, rules[address])
        send(call, to: index, for: query, .position)
    }

    private func send(
        _ script: ScriptCall,
        to index: Int,
        for query: PendingQuery,
        _ part: PendingQuery.Part
    ) {
        asked(query, partitions.send(script, to: index, as: call(for: query, part)))
    }

    private func call(for query: PendingQuery, _ part: PendingQuery.Part) -> any StoreCall {
        let attempt = query.attempt
        return RepeatableCall(isFromAny: true) { [self] reply in
            receive(reply, for: query, part, attempt: attempt)
        } giveUp: {
            if attempt == query.attempt { query.isWaiting = true }
        }
    }

    private func asked(_ query: PendingQuery, _ isSent: Bool) {
        if isSent { query.missing += 1 } else { query.isWaiting = true }
    }

    // MARK: - Answers

    private func receive(
        _ reply: borrowing RESPView,
        for query: PendingQuery,
        _ part: PendingQuery.Part,
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
        for query: PendingQuery,
        _ part: PendingQuery.Part
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
            let rest = (reply.double ?? 0) - Double(partitions.context.reactor.unixMilliseconds)
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
    func refused(_ what: String, for query: PendingQuery) {
        guard let index = indices(of: query).first else { return }
        partitions.refused(what, by: partitions[index].store)
    }

    private func finishIfComplete(_ query: PendingQuery) {
        if query.missing == 0, !query.isWaiting, !query.isRefused { searchOldest(query) }
        guard query.missing == 0, !query.isWaiting,
            queries.removeValue(forKey: ObjectIdentifier(query)) != nil
        else { return }
        guard !query.isRefused else { return query.finish(.failure(.redisUnreadable)) }
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
