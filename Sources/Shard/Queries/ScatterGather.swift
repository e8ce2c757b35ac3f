package import Broker
package import PusherProtocol

/// Sends queries about channels to their homes, and collects the answers.
package final class ScatterGather {
    /// A query that is not answered by all homes yet.
    private struct PendingQuery {
        var missingCount: Int
        var counts: [ChannelCount] = []
        /// Why a home cannot answer.
        var failure: QueryFailure?
        /// Called once, with all parts of the answer.
        let finish: (HomeAnswer) -> Void
    }

    private let context: ShardContext
    private let channels: ChannelService
    private let users: UserService
    private var pending: [QueryID: PendingQuery] = [:]
    private var last: QueryID = 0

    init(_ context: ShardContext, _ channels: ChannelService, _ users: UserService) {
        self.context = context
        self.channels = channels
        self.users = users
    }

    /// The number of queries that are not answered.
    var count: Int { pending.count }

    // MARK: - Queries

    /// Queries the number of subscriptions and users of channels.
    package func counts(of addresses: [ChannelAddress], finish: @escaping (HomeAnswer) -> Void) {
        let byHome = Dictionary(grouping: addresses) { context.home(of: $0) }
        ask(byHome.map { ($0.key, .counts($0.value)) }, finish: finish)
    }

    /// Queries the counts of a cache channel, and its cached event.
    package func cache(of address: ChannelAddress, finish: @escaping (HomeAnswer) -> Void) {
        ask([(context.home(of: address), .cached(address))], finish: finish)
    }

    /// Queries the counts of a channel, its cached event and its position.
    package func state(of address: ChannelAddress, finish: @escaping (HomeAnswer) -> Void) {
        ask([(context.home(of: address), .state(address))], finish: finish)
    }

    /// Queries messages that a channel keeps; `finish` receives the page.
    ///
    /// `read` is used if the archive is needed; its memory counts until `finish` returns.
    package func history(
        _ query: HistoryQuery,
        of address: ChannelAddress,
        _ read: ArchiveRead,
        finish: @escaping (Result<HistoryPage, QueryFailure>) -> Void
    ) {
        askHome(.history(address, query, read), of: address, \.history) { result in
            withExtendedLifetime(read) { finish(result) }
        }
    }

    /// Queries the record of a message; `nil` if the channel has no stream.
    package func trace(
        _ serial: UInt64,
        of address: ChannelAddress,
        finish: @escaping (Result<TracedMessage?, QueryFailure>) -> Void
    ) {
        askHome(.trace(address, serial: serial), of: address, { .some($0.trace) }, finish: finish)
    }

    /// Queries the kept data of one channel, whose app may lose its recovery meanwhile.
    private func askHome<Value>(
        _ query: ShardQuery,
        of address: ChannelAddress,
        _ value: @escaping (ChannelCount) -> Value?,
        finish: @escaping (Result<Value, QueryFailure>) -> Void
    ) {
        ask([(context.home(of: address), query)]) { answer in
            finish(
                answer.flatMap { counts in
                    counts.first.flatMap(value).map { .success($0) } ?? .failure(.keepsNothing)
                }
            )
        }
    }

    /// Drops what a channel keeps, and queries the position of the new stream; `nil` in an app without recovery.
    package func purge(
        _ address: ChannelAddress,
        finish: @escaping (Result<ChannelPosition?, QueryFailure>) -> Void
    ) {
        ask([(context.home(of: address), .purge(address))]) { answer in
            finish(answer.map { $0.first?.position })
        }
    }

    /// Closes every connection that is signed in as a user.
    package func terminate(_ user: UserAddress, finish: @escaping (HomeAnswer) -> Void) {
        ask([(context.home(of: user), .terminate(user))], finish: finish)
    }

    /// Queries the users of a presence channel.
    package func users(
        of address: ChannelAddress,
        finish: @escaping (Result<[UserID], QueryFailure>) -> Void
    ) {
        ask([(context.home(of: address), .users(address))]) { answer in
            finish(answer.map { $0.flatMap(\.users) })
        }
    }

    /// Sends queries to homes, and calls `finish` once on this loop with all answers, or the failure of one of the
    /// homes.
    ///
    /// Without queries, `finish` is called at once.
    func ask(
        _ queries: [(shard: Int, ShardQuery)],
        finish: @escaping (HomeAnswer) -> Void
    ) {
        guard !queries.isEmpty else { return finish(.success([])) }
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

    /// Answers a query for channels whose home is here, now or later.
    func answer(_ query: ShardQuery, _ reply: QueryReply) {
        if case .terminate(let user) = query {
            return users.authority.terminate(user) { [self] in send($0, reply) }
        }
        channels.authority.answer(query) { [self] in send($0, reply) }
    }

    private func send(_ answer: HomeAnswer, _ reply: QueryReply) {
        guard reply.asker != context.shard else { return receive(answer, of: reply.id) }
        context.links.send(.answer(answer, id: reply.id), to: reply.asker)
    }

    /// Receives one home's part of an answer.
    func receive(_ answer: HomeAnswer, of id: QueryID) {
        switch answer {
        case .success(let counts):
            pending[id]?.counts += counts
            let failure = counts.lazy.compactMap(\.failure).first
            if let failure { pending[id]?.failure = failure }
        case .failure(let failure): pending[id]?.failure = failure
        }
        pending[id]?.missingCount -= 1
        guard pending[id]?.missingCount == 0, let query = pending.removeValue(forKey: id) else {
            return
        }
        query.finish(query.failure.map { .failure($0) } ?? .success(query.counts))
    }
}
