import Broker
import PusherProtocol

/// Names an query among those of the shard that makes it.
typealias QueryID = UInt64

/// A question that several homes answer, each a part of it.
private struct PendingQuery {
    private var awaitedAnswers: Int
    private var counts: [ChannelCount] = []
    /// Gets all the answers together, once.
    let finish: ([ChannelCount]) -> Void

    /// Makes an query of which `awaitedAnswers` homes were asked, at least one.
    init(awaitedAnswers: Int, finish: @escaping ([ChannelCount]) -> Void) {
        self.awaitedAnswers = awaitedAnswers
        self.finish = finish
    }

    /// Takes in one home's answer; returns all of them when it was the last one awaited.
    mutating func receive(_ answer: [ChannelCount]) -> [ChannelCount]? {
        counts += answer
        awaitedAnswers -= 1
        return awaitedAnswers == 0 ? counts : nil
    }
}

/// The scatterGather that a shard has made and that are not answered.
struct ScatterGather {
    private var open: [QueryID: PendingQuery] = [:]
    private var last: QueryID = 0

    /// The number of scatterGather that are not answered.
    var count: Int { open.count }

    /// Begins an query of which `count` homes are asked, at least one.
    mutating func begin(
        awaiting count: Int,
        finish: @escaping ([ChannelCount]) -> Void
    ) -> QueryID {
        last += 1
        open[last] = PendingQuery(awaitedAnswers: count, finish: finish)
        return last
    }

    /// Takes in one home's answer.
    ///
    /// - Returns: With the last one, what finishes the query: for the caller to call, since it may begin another.
    mutating func receive(_ answer: [ChannelCount], of query: QueryID) -> (() -> Void)? {
        guard let all = open[query]?.receive(answer) else { return nil }
        return open.removeValue(forKey: query).map { query in { query.finish(all) } }
    }
}

extension ShardCore {
    /// Asks the homes of `addresses` for their subscription and user counts.
    func inquireCounts(
        of addresses: [ChannelAddress],
        finish: @escaping ([ChannelCount]) -> Void
    ) {
        let byHome = Dictionary(grouping: addresses) { $0.home(among: shardCount) }
        inquire(byHome.map { ($0.key, .counts($0.value)) }, finish: finish)
    }

    /// Asks the home of a cache channel for its counts, and for what it holds.
    func inquireCache(of address: ChannelAddress, finish: @escaping ([ChannelCount]) -> Void) {
        inquire([(address.home(among: shardCount), .cached(address))], finish: finish)
    }

    /// Asks the home of a presence channel who is on it.
    func inquireUsers(of address: ChannelAddress, finish: @escaping ([UserID]) -> Void) {
        inquire([(address.home(among: shardCount), .users(address))]) {
            finish($0.flatMap(\.users))
        }
    }
}

extension ShardCore {
    /// What this shard, as a home, has to say to a question.
    func answer(_ question: ShardQuery) -> [ChannelCount] {
        var counts = channels.answer(question)
        if case .cached(let address) = question {
            counts[0].cache = cachedEvents.attribute(of: address)
        }
        return counts
    }
}
