import Net

/// A primary, as Sentinels name it.
public struct SentinelPrimary: Hashable, Sendable {
    /// Where it listens.
    public var location: RedisURL.Location
    /// The Sentinels' configuration epoch (`config-epoch`), which is greater after each failover.
    ///
    /// It distinguishes a primary that has remained one from a former primary that was promoted again.
    public var configurationEpoch: Int64

    /// Makes a primary.
    public init(location: RedisURL.Location, configurationEpoch: Int64) {
        (self.location, self.configurationEpoch) = (location, configurationEpoch)
    }
}

/// The primary that each Sentinel has named last.
struct SentinelVotes {
    private struct Vote {
        let primary: SentinelPrimary
        let time: MonotonicTime
    }

    private var votes: [Vote?]

    init(sentinelCount: Int) { votes = Array(repeating: nil, count: sentinelCount) }

    /// Records an answer.
    ///
    /// - Parameters:
    ///   - primary: The primary; nil if the Sentinel does not know it.
    ///   - sentinel: The index of the Sentinel.
    ///   - time: When it was queried; its answer is at least that new.
    mutating func record(
        _ primary: SentinelPrimary?,
        of sentinel: Int,
        askedAt time: MonotonicTime
    ) {
        votes[sentinel] = primary.map { Vote(primary: $0, time: time) }
    }

    /// Returns the server that more than half of all Sentinels have named within the last `age`.
    ///
    /// It has the latest of their configuration epochs, because one Sentinel may have missed that another server was
    /// the primary in between.
    func majority(at time: MonotonicTime, within age: Duration) -> SentinelPrimary? {
        var epochs: [RedisURL.Location: [Int64]] = [:]
        for case let vote? in votes where vote.time.duration(to: time) <= age {
            epochs[vote.primary.location, default: []].append(vote.primary.configurationEpoch)
        }
        guard let named = epochs.first(where: { $0.value.count * 2 > votes.count }),
            let latest = named.value.max()
        else { return nil }
        return .init(location: named.key, configurationEpoch: latest)
    }
}
