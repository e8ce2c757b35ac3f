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
    /// The number of unanswered calls.
    var missing = 0
    /// The number of times that Redis was asked; replies to earlier ones do not count.
    var attempt = 0
    /// Whether it is to be asked again, when there is a connection.
    var isWaiting = false
    /// Whether a partition has more names.
    var hasMore = false

    init(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void) {
        (self.range, self.finish) = (range, finish)
    }

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
        (listing.names, listing.missing, listing.hasMore) = ([], 0, false)
        listing.attempt += 1
        let purpose = Call.list(listing, attempt: listing.attempt)
        for (index, partition) in partitions.enumerated() {
            let key = partition.calls.keys.occupied(listing.range.app.text)
            let limit = ["LIMIT", "0", "\(listing.range.limit)"]
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
        reply.forEach { listing.names.append($0.text) }
        if reply.count >= listing.range.limit { listing.hasMore = true }
        if listing.missing == 0, !listing.isWaiting { finish(listing) }
    }

    private func finish(_ listing: ClusterListing) {
        guard lists.removeValue(forKey: ObjectIdentifier(listing)) != nil else { return }
        let range = listing.range
        let sorted = listing.names.sorted()
        let limits = context.registry.apps[range.app]?.limits.texts ?? ProtocolLimits()
        let names = sorted.prefix(range.limit).compactMap { try? ChannelName($0, limits: limits) }
        let isComplete = !listing.hasMore && sorted.count <= range.limit
        func portion(_ entries: [ChannelPortion.Entry]) -> ChannelPortion {
            ChannelPortion(
                entries: entries,
                isComplete: isComplete,
                occupiedCount: sorted.count
            )
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
