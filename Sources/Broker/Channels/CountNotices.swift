/// The schedule of subscriber counts sent to the subscribers of a channel (Pusher documentation, "Subscription count").
///
/// A small channel announces every change. A large one announces at most every five seconds, because each notice costs
/// a send to every subscriber. The last count is always announced. All times are milliseconds of one steady clock.
public struct CountNotices: Sendable {
    /// A channel with more subscribers than this is large.
    public static let smallChannelMax = 100
    /// The minimum time between two notices of a large channel.
    public static let interval: Int64 = 5_000

    private struct Notice {
        var at: Int64
        /// Whether the count has changed since.
        var isStale = false
    }

    /// The large channels with a recent notice.
    private var notices: [ChannelAddress: Notice] = [:]

    /// Creates a schedule without notices.
    public init() {}

    /// Whether ``due(at:)`` has nothing to return or to remove.
    public var isEmpty: Bool { notices.isEmpty }

    /// Records that a channel has `count` subscribers now, and returns whether to announce that now; if not,
    /// ``due(at:)`` returns the channel later.
    public mutating func changed(_ address: ChannelAddress, to count: Int, at now: Int64) -> Bool {
        guard count > CountNotices.smallChannelMax else {
            notices[address] = nil
            return count > 0
        }
        if let last = notices[address], now - last.at < CountNotices.interval {
            notices[address]?.isStale = true
            return false
        }
        notices[address] = Notice(at: now)
        return true
    }

    /// Returns the channels that have to announce a changed count now, each once.
    public mutating func due(at now: Int64) -> [ChannelAddress] {
        var addresses: [ChannelAddress] = []
        for (address, last) in notices where now - last.at >= CountNotices.interval {
            if last.isStale { addresses.append(address) }
            // An announced channel waits again; an unchanged one is removed.
            notices[address] = last.isStale ? Notice(at: now) : nil
        }
        return addresses
    }
}
