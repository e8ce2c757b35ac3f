import RedisModel
import TestRandom

/// The Sentinels of a simulated cluster, up to three.
///
/// As real ones they take a primary for dead that has not answered for some time, and promote a replica when a majority
/// agrees. The one that does names the new primary first; the others learn of it when they meet at a server, or each other.
/// They make a former primary that is back a replica, some time after they have seen that it takes itself for a primary.
final class SimulatedSentinels {
    let sentinels: [SimulatedSentinel]
    private let redis: SimulatedRedis
    private var random: SeededRandom
    /// Makes a process the primary: the replica, or a former primary that is back.
    var promote: (SimulatedRedis.Process) throws -> Void = { _ in }

    /// The milliseconds after which a server that does not answer is down (`down-after-milliseconds`).
    private static let downAfter = 2_000
    /// The milliseconds between two attempts to promote a replica.
    private static let failoverTimeout = 4_000
    /// The milliseconds between two messages to the other Sentinels.
    private static let tellingInterval = 2_000
    /// The milliseconds after which a server that takes itself for a primary is made a replica: four of the above.
    private static let convertedAfter = 4 * tellingInterval
    /// The most milliseconds until a promoted replica was seen to be a primary.
    private static let seenWithin = 1_000

    /// Makes Sentinels that name the primary.
    init(_ count: Int, _ redis: SimulatedRedis, seed: UInt64, at time: Int, areSilent: Bool) {
        self.redis = redis
        random = SeededRandom(seed: seed)
        sentinels = (1...count).map { number in
            SimulatedSentinel(number, naming: redis.primary.server, at: time, isSilent: areSilent)
        }
    }

    /// More than half of all.
    var majority: Int { sentinels.count / 2 + 1 }

    /// Whether all name the primary, which has a replica and no rival.
    var areSettled: Bool {
        sentinels.allSatisfy { $0.server == redis.primary.server && $0.promoted == nil }
            && redis.isRunning(redis.primary) && redis.former.isEmpty && redis.replica != nil
    }

    /// All connections, in a fixed order.
    var links: [RedisLink] { sentinels.flatMap(\.orderedLinks) }

    /// The server that more than half of the Sentinels name; `nil` if they do not agree.
    var agreed: Int? {
        sentinels.map(\.server).first { server in
            sentinels.count { $0.server == server } >= majority
        }
    }

    // MARK: - Time

    /// When ``agreed`` has changed last, in milliseconds.
    private(set) var agreedAt = 0

    /// Everything that is due until a time, in milliseconds.
    func advance(to time: Int) throws {
        let former = agreed
        defer { if agreed != former { agreedAt = time } }
        for sentinel in sentinels { observe(sentinel, at: time) }
        for sentinel in sentinels {
            try promoteReplica(sentinel, at: time)
            namePromoted(sentinel, at: time)
            tellOthers(sentinel, at: time)
            try convert(sentinel, at: time)
        }
    }

    private func observe(_ sentinel: SimulatedSentinel, at time: Int) {
        // A primary that says that it is a replica is none.
        for process in redis.running where sentinel.reaches(process) {
            guard process.server != sentinel.server || process.model.identity.isPrimary else {
                continue
            }
            sentinel.answeredAt[process.server] = time
        }
        for server in [1, 2] {
            let process = redis.process(on: server)
            let isRival =
                process.map { sentinel.reaches($0) && $0.model.identity.isPrimary } ?? false
                && server != sentinel.server
            sentinel.primarySince[server] = isRival ? sentinel.primarySince[server] ?? time : nil
        }
    }

    /// Whether a Sentinel takes the primary that it names for dead.
    private func missesPrimary(_ sentinel: SimulatedSentinel, at time: Int) -> Bool {
        sentinel.answeredAt[sentinel.server].map { time - $0 > Self.downAfter } ?? false
    }

    // MARK: - Failover

    /// A Sentinel becomes the leader of a failover, if a majority agrees that the primary is dead.
    private func promoteReplica(_ sentinel: SimulatedSentinel, at time: Int) throws {
        guard sentinel.promoted == nil, missesPrimary(sentinel, at: time),
            time - sentinel.votedAt > Self.failoverTimeout
        else { return }
        let voters = sentinels.filter {
            $0 === sentinel || !$0.isAlone && !sentinel.isAlone
        }
        let agreeing = voters.count {
            $0.server == sentinel.server && missesPrimary($0, at: time)
        }
        guard agreeing >= majority else { return }
        let epoch = 1 + voters.reduce(0) { max($0, $1.epoch, $1.votedEpoch) }
        for voter in voters { (voter.votedEpoch, voter.votedAt) = (epoch, time) }
        guard let process = redis.process(on: 3 - sentinel.server), sentinel.reaches(process)
        else { return }
        // A former leader may have promoted it, and not have told.
        if process !== redis.primary { try promote(process) }
        let delay = Int(random.next() % UInt64(Self.seenWithin))
        sentinel.promoted = (process.server, epoch, time + delay)
    }

    /// A leader names the server that it has promoted.
    private func namePromoted(_ sentinel: SimulatedSentinel, at time: Int) {
        guard let promoted = sentinel.promoted, time >= promoted.seenAt else { return }
        let process = redis.process(on: promoted.server)
        let isPrimary = process.map { sentinel.reaches($0) && $0.model.identity.isPrimary } ?? false
        if isPrimary, promoted.epoch > sentinel.epoch {
            sentinel.name(promoted.server, in: promoted.epoch)
        } else if promoted.epoch <= sentinel.epoch
            || time - promoted.seenAt > Self.failoverTimeout
        {
            // It is not seen to be a primary, or another one has led a later failover.
            sentinel.promoted = nil
        }
    }

    /// A Sentinel tells those that it meets which primary it names, if they name an older one.
    private func tellOthers(_ sentinel: SimulatedSentinel, at time: Int) {
        guard time >= sentinel.tellsAt else { return }
        sentinel.tellsAt = time + Self.tellingInterval
        for other in sentinels where other.epoch < sentinel.epoch && meet(sentinel, other) {
            other.name(sentinel.server, in: sentinel.epoch)
        }
    }

    /// Whether what a Sentinel says reaches another one, directly or at a server.
    private func meet(_ sentinel: SimulatedSentinel, _ other: SimulatedSentinel) -> Bool {
        if !sentinel.isAlone, !other.isAlone { return true }
        return redis.running.contains { sentinel.reaches($0) && other.reaches($0) }
    }

    // MARK: - Former primaries

    /// A Sentinel makes a server follow the one that it names, if it takes itself for a primary.
    ///
    /// Also one that was promoted by a leader that was lost before it could tell.
    private func convert(_ sentinel: SimulatedSentinel, at time: Int) throws {
        guard let primary = redis.process(on: sentinel.server), sentinel.reaches(primary),
            primary.model.identity.isPrimary,
            sentinels.allSatisfy({ isNoNewer($0, than: sentinel) || !meet(sentinel, $0) })
        else { return }
        for process in redis.running where process !== primary {
            guard let since = sentinel.primarySince[process.server],
                time - since >= Self.convertedAfter
            else { continue }
            if primary !== redis.primary { try promote(primary) }
            redis.follow(process)
        }
    }

    private func isNoNewer(_ other: SimulatedSentinel, than sentinel: SimulatedSentinel) -> Bool {
        other.epoch <= sentinel.epoch && other.promoted == nil
    }
}
