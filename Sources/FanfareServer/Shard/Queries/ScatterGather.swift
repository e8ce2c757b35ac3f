import Broker
import PusherProtocol

/// Sends queries about channels to their homes, and collects the answers.
final class ScatterGather {
    /// A query that is not answered by all homes yet.
    private struct PendingQuery {
        var missingCount: Int
        var counts: [ChannelCount] = []
        /// Called once, with all parts of the answer.
        let finish: ([ChannelCount]) -> Void
    }

    private let context: ShardContext
    private let channels: ChannelService
    private var pending: [QueryID: PendingQuery] = [:]
    private var last: QueryID = 0

    init(_ context: ShardContext, _ channels: ChannelService) {
        self.context = context
        self.channels = channels
        channels.answerQuery = { [unowned self] in send($0, $1) }
    }

    /// The number of queries that are not answered.
    var count: Int { pending.count }

    // MARK: - Queries

    /// Queries the number of subscriptions and users of channels.
    func counts(of addresses: [ChannelAddress], finish: @escaping ([ChannelCount]) -> Void) {
        let byHome = Dictionary(grouping: addresses) { context.home(of: $0) }
        ask(byHome.map { ($0.key, .counts($0.value)) }, finish: finish)
    }

    /// Queries the counts of a cache channel, and its cached event.
    func cache(of address: ChannelAddress, finish: @escaping ([ChannelCount]) -> Void) {
        ask([(context.home(of: address), .cached(address))], finish: finish)
    }

    /// Queries the counts of a channel, its cached event and its position.
    func state(of address: ChannelAddress, finish: @escaping ([ChannelCount]) -> Void) {
        ask([(context.home(of: address), .state(address))], finish: finish)
    }

    /// Queries messages that a channel keeps.
    func history(
        _ query: HistoryQuery,
        of address: ChannelAddress,
        finish: @escaping (Result<HistoryPage, QueryFailure>) -> Void
    ) {
        askHome(.history(address, query), of: address, \.history, finish: finish)
    }

    /// Queries what is known of a message; `nil` if the channel has no stream.
    func trace(
        _ serial: UInt64,
        of address: ChannelAddress,
        finish: @escaping (Result<TracedMessage?, QueryFailure>) -> Void
    ) {
        askHome(.trace(address, serial: serial), of: address, { .some($0.trace) }, finish: finish)
    }

    /// Queries what one channel keeps; its app may lose that meanwhile.
    private func askHome<Value>(
        _ query: ShardQuery,
        of address: ChannelAddress,
        _ value: @escaping (ChannelCount) -> Value?,
        finish: @escaping (Result<Value, QueryFailure>) -> Void
    ) {
        ask([(context.home(of: address), query)]) { answers in
            let answer = answers.first
            if answer?.failure == nil, let found = answer.flatMap(value) {
                finish(.success(found))
            } else {
                finish(.failure(answer?.failure ?? .keepsNothing))
            }
        }
    }
    /// Drops what a channel keeps, and queries the position of the stream that begins; `nil` in an app without recovery.
    func purge(_ address: ChannelAddress, finish: @escaping (ChannelPosition?) -> Void) {
        ask([(context.home(of: address), .purge(address))]) {
            finish($0.first?.position)
        }
    }

    /// In a cluster: closes the connections of a user on all nodes.
    func terminate(_ user: UserAddress, finish: @escaping () -> Void) {
        ask([(context.home(of: user), .terminate(user))]) { _ in finish() }
    }

    /// Queries the users of a presence channel.
    func users(of address: ChannelAddress, finish: @escaping ([UserID]) -> Void) {
        ask([(context.home(of: address), .users(address))]) {
            finish($0.flatMap(\.users))
        }
    }

    /// Sends queries to homes, and calls `finish` once on this loop with all answers.
    ///
    /// - Parameters:
    ///   - queries: The queries, by shard; without any, `finish` is called at once.
    ///   - finish: Receives all answers together.
    func ask(
        _ queries: [(shard: Int, ShardQuery)],
        finish: @escaping ([ChannelCount]) -> Void
    ) {
        guard !queries.isEmpty else { return finish([]) }
        last += 1
        let id = last
        pending[id] = PendingQuery(missingCount: queries.count, finish: finish)
        for (shard, query) in queries where shard != context.shard {
            context.links.send(.query(query, id: id, asker: context.shard), to: shard)
        }
        for (shard, query) in queries where shard == context.shard {
            answer(query, QueryReply(id: id, asker: shard))
        }
    }

    /// Drops the queries that are not answered, when the shard has stopped.
    func dropPending() { pending = [:] }

    // MARK: - Answers

    /// Answers a query for channels whose home is here, at once or when the archive or the cluster has answered.
    func answer(_ query: ShardQuery, _ reply: QueryReply) {
        if let cluster = channels.cluster {
            return cluster.answer(query) { [self] in send($0, reply) }
        }
        guard !channels.askArchive(query, reply) else { return }
        send(channels.answer(query), reply)
    }

    private func send(_ counts: [ChannelCount], _ reply: QueryReply) {
        guard reply.asker != context.shard else { return receive(counts, of: reply.id) }
        context.links.send(.answer(counts, id: reply.id), to: reply.asker)
    }

    /// Receives one home's part of an answer.
    func receive(_ counts: [ChannelCount], of id: QueryID) {
        pending[id]?.counts += counts
        pending[id]?.missingCount -= 1
        guard pending[id]?.missingCount == 0, let query = pending.removeValue(forKey: id) else {
            return
        }
        query.finish(query.counts)
    }
}
