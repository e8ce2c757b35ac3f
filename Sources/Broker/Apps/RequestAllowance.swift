public import PusherProtocol

/// How many requests an app's backends may make, of each kind and of all together; `nil` for any number.
public struct RequestRates: Sendable, Equatable {
    /// The requests of any kind.
    public var all: Rate?
    /// Those that trigger events.
    public var triggers: Rate?
    /// Those that ask about channels and users.
    public var queries: Rate?
    /// Those that close the connections of a user.
    public var terminations: Rate?

    /// Makes rates.
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

/// The requests that an app's backends have left, whichever loop serves them.
public final class RequestAllowance: Sendable {
    /// What a request is for.
    public enum Kind: Sendable {
        /// To trigger events.
        case trigger
        /// To ask about channels and users.
        case query
        /// To close the connections of a user.
        case termination
    }

    /// A rate that is used up.
    public struct Refusal: Error, Equatable, Sendable {
        /// By what name it is counted.
        public let limit: Limit
        /// The rate.
        public let rate: Rate
    }

    private let all: SharedTokenBucket?
    private let triggers: SharedTokenBucket?
    private let queries: SharedTokenBucket?
    private let terminations: SharedTokenBucket?

    /// Makes an allowance of which nothing is used.
    public init(_ rates: RequestRates) {
        all = rates.all.map(SharedTokenBucket.init)
        triggers = rates.triggers.map(SharedTokenBucket.init)
        queries = rates.queries.map(SharedTokenBucket.init)
        terminations = rates.terminations.map(SharedTokenBucket.init)
    }

    /// Takes a request.
    ///
    /// - Parameters:
    ///   - kind: What it is for.
    ///   - now: The time in nanoseconds, on the same steady clock every time.
    /// - Throws: The rate that leaves none; that of its kind comes first, so that a kind without any left takes nothing
    ///   from the others.
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
