import PusherProtocol
import Shard

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
    var nextPartition = 0
    /// The number of unanswered calls.
    var unansweredCount = 0
    /// The number of attempts; replies to earlier attempts are ignored.
    private(set) var attempt = 0
    /// Whether it is to be requested again when there is a connection.
    var isWaiting = false
    /// The channels whose counts are read.
    var entries: [ChannelPortion.Entry] = []

    init(
        _ range: ChannelRange,
        limits: ProtocolLimits = ProtocolLimits(),
        _ finish: @escaping (ChannelPortion) -> Void
    ) {
        (self.range, self.limits, self.finish) = (range, limits, finish)
    }

    /// Forgets what was read.
    func begin() {
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
