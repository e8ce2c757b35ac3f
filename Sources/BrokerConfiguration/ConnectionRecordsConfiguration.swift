public import Broker

/// The configuration of the connection records, which answer why a client did not get a message.
public struct ConnectionRecordsConfiguration: Sendable, Hashable {
    /// Which connections are recorded.
    public var scope = ConnectionRecords.Scope.tracked
    /// The maximum number of closed connections that are recorded; one more forgets the oldest.
    public var closedMax = 10_000

    /// Creates the default: connections that track their positions, the last 10,000 behind their end.
    public init() {}
}

extension ConfigurationKey<Configuration> {
    /// The keys of the connection records.
    static let connectionRecords: [Self] = [
        Self(
            "recovery.connection_records",
            \.connectionRecords.scope,
            .choice,
            help: """
                The connections for which the broker records the serials that they got, for \
                "fanfare why". tracked: those that track their position on a channel. all: those \
                with a subscription.
                """
        ),
        Self(
            "recovery.connection_records_max",
            \.connectionRecords.closedMax,
            .count("a number of connections", in: 0...10_000_000),
            help: "Closed connections that are recorded; one more replaces the oldest."
        ),
    ]
}
