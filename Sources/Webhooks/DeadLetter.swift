public import Broker
internal import Primitives

/// An undelivered webhook, kept for inspection and replay.
public struct DeadLetter: Sendable, Equatable {
    /// The reason why a webhook was abandoned.
    public enum Cause: String, Sendable {
        /// All attempts failed until receivers would have refused it as too old.
        case exhausted
        /// The endpoint answered 410 and refuses further webhooks.
        case gone
        /// It was too old before the first attempt.
        case expired
        /// It was evicted by newer ones.
        case overflow
        /// The app or the endpoint is no longer configured.
        case unconfigured
    }

    /// Its `X-Delivery-Id`.
    public let id: Int64
    /// The app of its events.
    public let app: AppID
    /// The URL of its endpoint.
    public let url: String
    /// The URL to show, without parts that may be secret.
    public var shownURL: String { url.withoutURLSecrets }
    /// The index among the app's endpoints of the same URL, from zero.
    public let ordinal: Int
    /// Its `time_ms`: the time of its creation, in milliseconds since 1970.
    public let time: Int64
    /// The channels of its events, each once.
    public let channels: [String]
    /// The events as the JSON text of an array.
    public var eventsJSON: String { "[" + String(decoding: events, as: UTF8.self) + "]" }
    /// The reason why it was abandoned.
    public let cause: Cause
    /// The last error, as a sentence without its full stop.
    public let detail: String
    /// The number of attempts since the broker's last start.
    public let attempts: Int
    /// The time at which it was abandoned, in milliseconds since 1970.
    public let deathTime: Int64
    /// Whether it is marked for replay by the broker that uses this file.
    public let isReplayed: Bool

    /// The objects of `events`, separated by commas.
    let events: [UInt8]
}

extension DeadLetter {
    /// Creates a dead letter from a webhook that is abandoned now, a time in milliseconds since 1970, after its last
    /// error.
    init(_ delivery: Delivery, cause: Cause, detail: String, at now: Int64) {
        self.init(
            id: delivery.id,
            app: delivery.endpoint.app,
            url: delivery.endpoint.url,
            ordinal: delivery.endpoint.ordinal,
            time: delivery.time,
            channels: delivery.channels,
            cause: cause,
            detail: detail,
            attempts: delivery.attempts,
            deathTime: now,
            isReplayed: false,
            events: delivery.events
        )
    }

    /// The key of its endpoint.
    var endpoint: EndpointKey { EndpointKey(app: app, url: url, ordinal: ordinal) }
}
