internal import Broker

/// Which cache channels are known to be empty, so that many clients that find it out at once are told of once.
///
/// A miss is news again when the cache has been filled since, or after ``period``.
struct CacheMisses: Sendable {
    /// How long a miss is old news, in milliseconds.
    static let period: Int64 = 60_000

    /// The channels that may be remembered; beyond it the oldest are forgotten.
    let countMax: Int

    private var told: [ChannelAddress: Int64] = [:]
    /// In the order of their time; one whose time is not the one in ``told`` does not count any more.
    private var order: [(address: ChannelAddress, time: Int64)] = []
    private var first = 0

    /// Begins with no channel remembered.
    init(countMax: Int) { self.countMax = countMax }

    /// Takes in a report.
    ///
    /// - Parameter report: What happened; its time is not before that of earlier reports.
    /// - Returns: Whether it is to be told.
    mutating func admit(_ report: Report) -> Bool {
        switch report.event {
        case .cacheFilled:
            told.removeValue(forKey: report.address)
            return false
        case .cacheMiss:
            forget(before: report.uptime - Self.period)
            guard told[report.address] == nil else { return false }
            told[report.address] = report.uptime
            order.append((report.address, report.uptime))
            return true
        default: return true
        }
    }

    private mutating func forget(before limit: Int64) {
        while first < order.count,
            order[first].time <= limit || order.count - first >= countMax
        {
            let (address, time) = order[first]
            if told[address] == time { told.removeValue(forKey: address) }
            first += 1
        }
        if first > order.count / 2 {
            order.removeFirst(first)
            first = 0
        }
    }
}
