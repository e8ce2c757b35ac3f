public import PusherProtocol

/// The rate limits of the requests of an app's backends, in total and by kind; `nil` for no limit.
public struct RequestRates: Sendable, Equatable {
    /// All requests.
    public var all: Rate?
    /// Requests that trigger events.
    public var triggers: Rate?
    /// Requests that query channels and users.
    public var queries: Rate?
    /// Requests that terminate the connections of a user.
    public var terminations: Rate?

    /// Creates rate limits.
    public init(
        all: Rate? = nil,
        triggers: Rate? = nil,
        queries: Rate? = nil,
        terminations: Rate? = nil
    ) {
        self.all = all
        self.triggers = triggers
        self.queries = queries
        self.terminations = terminations
    }
}

/// The remaining requests of an app's backends, shared by all loops.
public final class RequestAllowance: Sendable {
    /// The kind of a request.
    public enum Kind: Sendable {
        /// Triggers events.
        case trigger
        /// Queries channels and users.
        case query
        /// Terminates the connections of a user.
        case termination
    }

    /// The error when a rate limit is exceeded.
    public struct Refusal: Error, Equatable, Sendable {
        /// The limit, for counting.
        public let limit: Limit
        /// The rate.
        public let rate: Rate
    }

    private let all: SharedTokenBucket?
    private let triggers: SharedTokenBucket?
    private let queries: SharedTokenBucket?
    private let terminations: SharedTokenBucket?

    /// Creates an allowance of unused rates.
    public init(_ rates: RequestRates) {
        all = rates.all.map(SharedTokenBucket.init)
        triggers = rates.triggers.map(SharedTokenBucket.init)
        queries = rates.queries.map(SharedTokenBucket.init)
        terminations = rates.terminations.map(SharedTokenBucket.init)
    }

    // MARK: - Several nodes

    /// The number of rates.
    public static let rateCount = 4

    private var buckets: [SharedTokenBucket?] { [all, triggers, queries, terminations] }

    /// Whether there is any rate.
    public var isLimited: Bool { buckets.contains { $0 != nil } }

    /// How often each rate was requested; 0 where there is none.
    public var askedCounts: [Int] { buckets.map { $0?.askedCount ?? 0 } }

    /// This node's share of each rate, per second; 0 where there is none.
    public var shares: [Int] { buckets.map { $0?.sharePerSecond ?? 0 } }

    /// Sets this node's share of each rate to what `share` returns, per second, for the rate with this index in
    /// ``askedCounts``.
    public func divide(_ share: (_ index: Int, _ perSecond: Int) -> Int) {
        for (index, bucket) in buckets.enumerated() {
            if let bucket { bucket.resize(to: share(index, bucket.rate.perSecond)) }
        }
    }

    // MARK: - Requests

    /// Counts a request of a kind, at a time in nanoseconds of a steady clock.
    ///
    /// - Throws: The exceeded rate. The rate of the kind is checked first, so that a kind over its limit does not
    ///   consume the common rate.
    public func take(_ kind: Kind, at now: Int64) throws(Refusal) {
        let (limit, bucket): (Limit, SharedTokenBucket?) =
            switch kind {
            case .trigger: (.triggerRate, triggers)
            case .query: (.queryRate, queries)
            case .termination: (.terminationRate, terminations)
            }
        if let bucket, !bucket.take(at: now) { throw Refusal(limit: limit, rate: bucket.rate) }
        if let all, !all.take(at: now) { throw Refusal(limit: .requestRate, rate: all.rate) }
    }
}
