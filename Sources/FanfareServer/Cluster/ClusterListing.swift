import Broker
import Net
import PusherProtocol
import RESP
import Redis

/// A portion of an app's occupied channels whose home is this shard, which Redis has for all nodes.
final class ClusterListing {
    let range: ChannelRange
    let finish: (ChannelPortion) -> Void
    /// The names of all partitions, in no particular order.
    var names: [String] = []
    /// The name up to which all names are known; `nil` if no partition has more.
    var end: String?
    /// The number of unanswered calls.
    var missing = 0
    /// The number of times that Redis was asked; replies to earlier ones do not count.
    var attempt = 0
    /// Whether it is to be asked again, when there is a connection.
    var isWaiting = false

    init(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void) {
        (self.range, self.finish) = (range, finish)
    }

    /// The number of names to ask a partition for.
    ///
    /// Names are spread evenly: with twice the mean, some hundred partitions together have a page.
    ///
    /// - Parameter count: The number of partitions.
    /// - Returns: From 8 on, but no more than the whole page.
    func limit(ofPartitionsAmong count: Int) -> Int {
        min(range.limit, max(8, 2 * range.limit / max(count, 1)))
    }

    /// Adds the names of a partition, sorted.
    func append(_ more: [String], hasMore: Bool) {
        names += more
        guard hasMore, let last = more.last else { return }
        end = min(last, end ?? last)
    }

    /// The names that are certainly the next ones, sorted.
    var next: [String] {
        let known = names.filter { name in end.map { name <= $0 } ?? true }
        return Array(known.sorted().prefix(range.limit))
    }

    /// Whether there are no other names.
    var isComplete: Bool { end == nil && names.count <= range.limit }

    /// The lowest name, in the form of `ZRANGEBYLEX`.
    ///
    /// The channels of users come first, by the `#` of their names, and are not listed.
    var first: String {
        let cursor = range.cursor
        if !cursor.isEmpty, cursor >= range.prefix { return "(\(cursor)" }
        return range.prefix.isEmpty ? "[$" : "[\(range.prefix)"
    }

    /// The highest name: names are ASCII without control characters.
    var last: String { range.prefix.isEmpty ? "+" : "[\(range.prefix)\u{7F}" }
}

// Lists of occupied channels.
extension ClusterHome {
    /// Lists occupied channels, when Redis has answered.
    func list(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void) {
        let listing = ClusterListing(range, finish)
        lists[ObjectIdentifier(listing)] = listing
        ask(listing)
        if listing.isWaiting, stores.contains(where: \.isOutOfPatience) { refuseWaitingQueries() }
    }

    /// Asks Redis, also again behind a loss of the connection.
    func ask(_ listing: ClusterListing) {
        listing.isWaiting = !partitions.allSatisfy(\.store.isOpen)
        guard !listing.isWaiting else { return }
        (listing.names, listing.missing, listing.end) = ([], 0, nil)
        listing.attempt += 1
        let purpose = Call.list(listing, attempt: listing.attempt)
        for (index, partition) in partitions.enumerated() {
            let key = partition.calls.keys.occupied(listing.range.app.text)
            let limit = ["LIMIT", "0", "\(listing.limit(ofPartitionsAmong: partitions.count))"]
            let command = ["ZRANGEBYLEX", "\(key)", listing.first, listing.last] + limit
            let isSent = read(command, in: index, as: purpose)
            if isSent { listing.missing += 1 } else { listing.isWaiting = true }
        }
        if partitions.isEmpty { finish(listing) }
    }

    func receive(_ reply: borrowing RESPView, for listing: ClusterListing, attempt: Int) {
        guard attempt == listing.attempt else { return }
        guard RedisError(reply) == nil else {
            guard lists.removeValue(forKey: ObjectIdentifier(listing)) != nil else { return }
            return listing.finish(.unreadable)
        }
        listing.missing -= 1
        var names: [String] = []
        reply.forEach { names.append($0.text) }
        let limit = listing.limit(ofPartitionsAmong: partitions.count)
        listing.append(names, hasMore: names.count >= limit)
        if listing.missing == 0, !listing.isWaiting { finish(listing) }
    }

    private func finish(_ listing: ClusterListing) {
        guard lists.removeValue(forKey: ObjectIdentifier(listing)) != nil else { return }
        let range = listing.range
        let next = listing.next
        let limits = context.registry.apps[range.app]?.limits.texts ?? ProtocolLimits()
        let names = next.compactMap { try? ChannelName($0, limits: limits) }
        let isComplete = listing.isComplete
        let occupiedCount = listing.names.count
        func portion(_ entries: [ChannelPortion.Entry]) -> ChannelPortion {
            ChannelPortion(entries: entries, isComplete: isComplete, occupiedCount: occupiedCount)
        }
        guard !range.info.isEmpty else {
            return listing.finish(portion(names.map { ChannelPortion.Entry(name: $0) }))
        }
        let addresses = names.map { ChannelAddress(app: range.app, name: $0) }
        answer(.counts(addresses)) { answer in
            guard case .success(let counts) = answer else { return listing.finish(.unreadable) }
            let entries = counts.map { count in
                ChannelPortion.Entry(
                    name: count.name,
                    subscriptionCount: count.subscriptionCount,
                    userCount: count.userCount
                )
            }
            listing.finish(portion(entries))
        }
    }
}
