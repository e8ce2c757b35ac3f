public import Broker

/// The counts of one endpoint's webhooks since the broker's start.
public struct EndpointReport: Sendable, Equatable {
    /// The app.
    public let app: AppID
    /// The endpoint's URL.
    public let url: String
    /// The index among the app's endpoints of the same URL, from zero.
    public let ordinal: Int
    /// The statistics.
    public var counts: EndpointCounts
    /// Webhooks queued now, including those in flight.
    public var queued: Int
    /// Whether the last attempt failed.
    public var isFailing: Bool
}

/// The statistics of one endpoint.
public struct EndpointCounts: Sendable, Equatable {
    /// Requests answered with a 2xx.
    public var delivered = 0
    /// Failed requests.
    public var failedAttempts = 0
    /// Webhooks that became dead letters.
    public var dead = 0
    /// The error of the last failed request; `nil` if none has failed.
    public var lastError: String?
    /// The time of that failure, in milliseconds since 1970.
    public var lastErrorTime: Int64?
}
