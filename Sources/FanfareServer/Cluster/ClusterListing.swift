import Broker
import Net
import PusherProtocol
import RESP
import Redis

/// A portion of an app's occupied channels on all nodes whose home is this shard, as read from Redis.
final class ClusterListing {
    let range: ChannelRange
    /// The limits of names.
    private let limits: ProtocolLimits
    let finish: (ChannelPortion) -> Void
    /// The first of the names that are read, up to ``end``, sorted: at most a page.
    private(set) var names: [ChannelName] = []
    /// The number of names that are read.
    private(set) var readCount = 0
    /// The name up to which all names are known; `nil` if no partition has more.
    private var end: String?
    /// The partition that is asked next.
    fileprivate var nextPartition = 0
    /// The number of unanswered calls.
    fileprivate(set) var unansweredCount = 0
    /// The number of attempts; replies to earlier attempts are ignored.
    private(set) var attempt = 0
    /// Whether it is to be requested again when there is a connection.
    var isWaiting = false
    /// The channels whose counts are read.
    fileprivate var entries: [ChannelPortion.Entry] = []

    init(
        _ range: ChannelRange,
        limits: ProtocolLimits = ProtocolLimits(),
        _ finish: @escaping (ChannelPortion) -> Void
    ) {
        (self.range, self.limits, self.finish) = (range, limits, finish)
    }

    /// Forgets what was read.
    fileprivate func begin() {
        (names, readCount, end) = ([], 0, nil)
        (nextPartition, unansweredCount) = (0, 0)
        attempt += 1
    }

    /// The number of names to request from each of `count` partitions.
    ///
    /// Names are spread evenly: with twice the mean, some hundred partitions together have a page. At least 8, and at
    /// most the whole page.
    func limit(ofPartitionsAmong count: Int) -> Int {
        min(range.limit, max(8, 2 * range.limit / max(count, 1)))
    }

    /// Adds the names of a partition, which are sorted.
    func append(_ more: [String], hasMore: Bool) {
        readCount += more.count
        if hasMore, let last = more.last, end.map({ last < $0 }) ?? true {
            end = last
            names.removeLast(names.count - place(of: last, from: 0))
        }
        var place = 0
        for text in more {
            if let end, text > end { break }
            if names.count == range.limit, let last = names.last, text > last.text { break }
            // The app may allow shorter names than before.
            guard let name = try? ChannelName(text, limits: limits) else { continue }
            place = self.place(of: text, from: place)
            if names.count == range.limit { names.removeLast() }
            names.insert(name, at: place)
        }
    }

    /// The number of names up to a given one.
    private func place(of text: String, from start: Int) -> Int {
        var (lower, upper) = (start, names.count)
        while lower < upper {
            let middle = (lower + upper) / 2
            if names[middle].text > text { upper = middle } else { lower = middle + 1 }
        }
        return lower
    }

    /// Whether there are no other names.
    var isComplete: Bool { end == nil && readCount <= range.limit }

    /// The lowest name, in the form of `ZRANGEBYLEX`.
    ///
    /// The channels of users sort first, because their names begin with `#`, and are not listed.
    var first: String {
        let cursor = range.cursor
        if !cursor.isEmpty, cursor >= range.prefix { return "(\(cursor)" }
        return range.prefix.isEmpty ? "[$" : "[\(range.prefix)"
    }

    /// The highest name: names are ASCII without control characters.
    var last: String { range.prefix.isEmpty ? "+" : "[\(range.prefix)\u{7F}" }
}

// Lists of occupied channels: one at a time is read from Redis, a few partitions each turn.
extension ClusterHome {
    /// The maximum number of partitions whose names a turn requests.
    static var listedPerTurn: Int { 4 }
    /// The maximum number of unanswered calls for names, so that an event waits at Redis for no more of them.
    static var listedMax: Int { 32 }
    /// The maximum number of channels whose counts are read at a time.
    private static var countedMax: Int { 16 }

    /// Lists occupied channels when Redis has answered.
    func list(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void) {
        let limits = context.registry.apps[range.app]?.limits.texts ?? ProtocolLimits()
        lists.append(ClusterListing(range, limits: limits, finish))
        if lists.count == 1 { askForFirstList() }
    }

    /// Begins with the first list.
    private func askForFirstList() {
        guard let listing = lists.first else { return }
        ask(listing)
        if listing.isWaiting, stores.contains(where: \.isOutOfPatience) { refuseWaitingQueries() }
    }

    /// Requests the names from the first partition on, also after a loss of the connection.
    func ask(_ listing: ClusterListing) {
        listing.isWaiting = !stores.allSatisfy { $0.isOpen || $0.partitions.isEmpty }
        guard !listing.isWaiting else { return }
        listing.begin()
        if partitions.isEmpty { finish(listing) }
    }

    /// Whether the next turn can request names.
    var hasNextList: Bool {
        guard let listing = lists.first, !listing.isWaiting else { return false }
        return listing.unansweredCount < Self.listedMax && listing.nextPartition < partitions.count
    }

    /// Requests the names of the first list from the next partitions.
    func askNextList() {
        for _ in 0..<Self.listedPerTurn {
            guard hasNextList, let listing = lists.first else { return }
            let index = listing.nextPartition
            let key = partitions[index].calls.keys.occupied(listing.range.app.text)
            let limit = ["LIMIT", "0", "\(listing.limit(ofPartitionsAmong: partitions.count))"]
            let command = ["ZRANGEBYLEX", "\(key)", listing.first, listing.last] + limit
            guard read(command, in: index, as: .list(listing, attempt: listing.attempt)) else {
                return listing.isWaiting = true
            }
            listing.unansweredCount += 1
            listing.nextPartition += 1
        }
    }

    func receive(_ reply: borrowing RESPView, for listing: ClusterListing, attempt: Int) {
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
        answer(.counts(names.map { ChannelAddress(app: app, name: $0) })) { [self] answer in
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
