import Net

/// The primary that each Sentinel has named last.
struct SentinelVotes {
    private struct Vote {
        let server: RedisURL.Location
        let time: MonotonicTime
    }

    private var votes: [Vote?]

    init(sentinelCount: Int) { votes = Array(repeating: nil, count: sentinelCount) }

    /// Records an answer.
    ///
    /// - Parameters:
    ///   - server: The primary; nil if the Sentinel does not know it.
    ///   - sentinel: The index of the Sentinel.
    ///   - time: When it was asked, since its answer is at least that new.
    mutating func record(
        _ server: RedisURL.Location?,
        of sentinel: Int,
        askedAt time: MonotonicTime
    ) {
        votes[sentinel] = server.map { Vote(server: $0, time: time) }
    }

    /// Returns the server that more than half of all Sentinels have named within the last `age`.
    func majority(at time: MonotonicTime, within age: Duration) -> RedisURL.Location? {
        var counts: [RedisURL.Location: Int] = [:]
        for case let vote? in votes where vote.time.duration(to: time) <= age {
            counts[vote.server, default: 0] += 1
        }
        return counts.first { $0.value * 2 > votes.count }?.key
    }
}
