import Broker
import PusherProtocol
import RESP
import Redis
import Shard

/// The lists of occupied channels whose home is this shard: one at a time is read from Redis, a few partitions each
/// turn.
final class SharedLists {
    private let partitions: Partitions
    private let queries: SharedQueries
    /// The lists that are not complete; the first one is being read from Redis.
    private(set) var lists: [ClusterListing] = []

    init(_ partitions: Partitions, _ queries: SharedQueries) {
        (self.partitions, self.queries) = (partitions, queries)
    }

    /// Forgets all lists, with the shard.
    func removeAll() { lists = [] }

    /// The maximum number of partitions whose names a turn requests.
    static var listedPerTurn: Int { 4 }
    /// The maximum number of unanswered calls for names, so that an event waits at Redis for no more of them.
    static var listedMax: Int { 32 }
    /// The maximum number of channels whose counts are read at a time.
    private static var countedMax: Int { 16 }

    /// Lists occupied channels when Redis has answered.
    func list(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void) {
        let limits = partitions.context.registry.apps[range.app]?.limits.texts ?? ProtocolLimits()
        lists.append(ClusterListing(range, limits: limits, finish))
        if lists.count == 1 { askForFirstList() }
    }

    /// Begins with the first list.
    private func askForFirstList() {
        guard let listing = lists.first else { return }
        ask(listing)
        if listing.isWaiting { refuseWaiting() }
    }

    /// Refuses the lists if one waits for a store that has been unreachable for longer than messages wait.
    func refuseWaiting() {
        // The first one waits for the store, and the others for the first.
        guard lists.first?.isWaiting == true, partitions.contains(where: \.store.isOutOfPatience)
        else { return }
        for listing in exchange(&lists, with: []) { listing.finish(.unreadable) }
    }

    /// Requests the names of the first list again, if it waits.
    func resume() {
        if let listing = lists.first, listing.isWaiting { ask(listing) }
    }

    /// Requests the names from the first partition on, also after a loss of the connection.
    private func ask(_ listing: ClusterListing) {
        listing.isWaiting = !partitions.stores.allSatisfy { $0.isOpen || $0.partitions.isEmpty }
        guard !listing.isWaiting else { return }
        listing.begin()
        if partitions.isEmpty { finish(listing) }
    }

    /// Whether the next turn can request names.
    var hasNext: Bool {
        guard let listing = lists.first, !listing.isWaiting else { return false }
        return listing.unansweredCount < Self.listedMax && listing.nextPartition < partitions.count
    }

    /// Requests the names of the first list from the next partitions.
    func askNext() {
        for _ in 0..<Self.listedPerTurn {
            guard hasNext, let listing = lists.first else { return }
            let index = listing.nextPartition
            let key = partitions[index].calls.keys.occupied(listing.range.app.text)
            let limit = ["LIMIT", "0", "\(listing.limit(ofPartitionsAmong: partitions.count))"]
            let command = ["ZRANGEBYLEX", "\(key)", listing.first, listing.last] + limit
            let attempt = listing.attempt
            let call = RepeatableCall(isFromAny: true) { [self] reply in
                receive(reply, for: listing, attempt: attempt)
            } giveUp: {
                if attempt == listing.attempt { listing.isWaiting = true }
            }
            guard partitions.read(command, in: index, as: call) else {
                return listing.isWaiting = true
            }
            listing.unansweredCount += 1
            listing.nextPartition += 1
        }
    }

    private func receive(_ reply: borrowing RESPView, for listing: ClusterListing, attempt: Int) {
        guard attempt == listing.attempt, listing === lists.first else { return }
        guard RedisError(reply) == nil else { return end(listing, with: .unreadable) }
        listing.unansweredCount -= 1
        var names: [String] = []
        reply.forEach { names.append($0.text) }
        let limit = listing.limit(ofPartitionsAmong: partitions.count)
        listing.append(names, hasMore: names.count >= limit)
        guard listing.unansweredCount == 0, listing.nextPartition == partitions.count,
            !listing.isWaiting
        else { return }
        finish(listing)
    }

    private func finish(_ listing: ClusterListing) {
        guard listing.range.info.isEmpty else { return countNext(of: listing) }
        end(listing, with: listing.names.map { ChannelPortion.Entry(name: $0) })
    }

    /// Reads the counts of the next channels.
    private func countNext(of listing: ClusterListing) {
        let names = listing.names.dropFirst(listing.entries.count).prefix(Self.countedMax)
        guard !names.isEmpty else { return end(listing, with: listing.entries) }
        let app = listing.range.app
        queries.answer(.counts(names.map { ChannelAddress(app: app, name: $0) })) { [self] answer in
            guard case .success(let counts) = answer else {
                return end(listing, with: .unreadable)
            }
            listing.entries += counts.map { count in
                ChannelPortion.Entry(
                    name: count.name,
                    subscriptionCount: count.subscriptionCount,
                    userCount: count.userCount
                )
            }
            countNext(of: listing)
        }
    }

    private func end(_ listing: ClusterListing, with entries: [ChannelPortion.Entry]) {
        let portion = ChannelPortion(
            entries: entries,
            isComplete: listing.isComplete,
            occupiedCount: listing.readCount
        )
        end(listing, with: portion)
    }

    /// Answers a list, and begins with the next one.
    private func end(_ listing: ClusterListing, with portion: ChannelPortion) {
        guard listing === lists.first else { return }
        lists.removeFirst()
        listing.finish(portion)
        askForFirstList()
    }
}
