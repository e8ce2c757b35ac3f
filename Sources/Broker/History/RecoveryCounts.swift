public import PusherProtocol

/// The results of subscriptions that track their positions or opened with earlier messages, and the counts of dropped
/// messages.
public struct RecoveryCounts: Sendable, Equatable {
    /// Why kept messages were dropped before they expired, or a stream forgotten.
    public enum Eviction: String, CaseIterable, Sendable {
        /// A channel's `messages_max` or `bytes_max`.
        case channelMessages = "messages_max", channelBytes = "bytes_max"
        /// The budgets of the app, and of the broker.
        case appBytes = "app_retained_bytes", totalBytes = "retained_bytes_total"
        /// The number of channels without subscribers.
        case positions = "recovery_positions"
    }

    /// The result of a subscription, in the names of the metrics.
    public enum Result: String, CaseIterable, Sendable {
        /// Without position: live messages only, all earlier ones that were due, or fewer because fewer are kept.
        case began, opened, openedInPart = "opened_in_part"
        /// From a position: nothing is missing.
        case recovered
        /// From a position: something is missing.
        case unknownStream = "unknown_stream", truncated, tooMuch = "too_much", ahead
        case notKept = "not_kept", unknownSession = "unknown_session"
        case sharedSession = "shared_session"

        /// The results that are a gap, which is reported to the client.
        public static let gaps: [Result] = [
            .unknownStream, .truncated, .tooMuch, .ahead, .notKept, .unknownSession, .sharedSession,
        ]
    }

    private var results = [Int](repeating: 0, count: Result.allCases.count)
    private var evictions = [Int](repeating: 0, count: Eviction.allCases.count)

    /// Creates counts of zero.
    public init() {}

    /// The number of subscriptions with a result.
    public subscript(result: Result) -> Int { results[result.index] }

    /// The number of dropped messages, or of forgotten streams.
    public subscript(eviction: Eviction) -> Int { evictions[eviction.index] }

    /// Counts a subscription.
    public mutating func count(_ start: SubscriptionStart) { results[Result(start).index] += 1 }

    mutating func count(_ eviction: Eviction, _ number: Int = 1) {
        evictions[eviction.index] += number
    }

    /// Adds the counts of another shard.
    public mutating func add(_ other: RecoveryCounts) {
        for index in results.indices { results[index] += other.results[index] }
        for index in evictions.indices { evictions[index] += other.evictions[index] }
    }
}

extension RecoveryCounts.Result {
    /// The result of a subscription.
    public init(_ start: SubscriptionStart) {
        switch start.continuity {
        case .recovered: self = .recovered
        case .gap(let gap): self = RecoveryCounts.Result(rawValue: gap.reason.rawValue) ?? .notKept
        case .began:
            switch start.isRewindComplete {
            case nil: self = .began
            case true?: self = .opened
            case false?: self = .openedInPart
            }
        }
    }

    fileprivate var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

extension RecoveryCounts.Eviction {
    fileprivate var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
