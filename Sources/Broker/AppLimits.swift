public import PusherProtocol

/// What an app's clients and backends may use at the most.
///
/// The defaults are those of the Pusher documentation where it names one, and otherwise generous enough that only a
/// mistake or an attack meets them.
public struct AppLimits: Sendable, Equatable {
    /// The limits of the protocol's own texts: names, data, channels of a trigger, events of a batch.
    public var texts: ProtocolLimits
    /// Subscriptions of one connection at a time; one more is refused, and the connection stays open.
    public var subscriptionsMax: Int
    /// Messages a minute that break a rule of the protocol before the connection is closed with 4100.
    public var faultsPerMinuteMax: Int

    /// Makes limits, each with its default.
    public init(
        texts: ProtocolLimits = ProtocolLimits(),
        subscriptionsMax: Int = 10_000,
        faultsPerMinuteMax: Int = 120
    ) {
        self.texts = texts
        self.subscriptionsMax = subscriptionsMax
        self.faultsPerMinuteMax = faultsPerMinuteMax
    }
}
