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

    /// The webhook.
    let delivery: Delivery
    /// The reason why it was abandoned.
    public let cause: Cause
    /// The last error, as a sentence without its full stop.
    public let detail: String
    /// The time at which it was abandoned, in milliseconds since 1970.
    public let deathTime: Int64
    /// Whether it is marked for replay by the broker that uses this file.
    public internal(set) var isReplayed = false

    /// Its `X-Delivery-Id`.
    public var id: Int64 { delivery.id }
    /// The app of its events.
    public var app: AppID { delivery.endpoint.app }
    /// The URL of its endpoint.
    public var url: String { delivery.endpoint.url }
    /// The URL to show, without parts that may be secret.
    public var shownURL: String { url.withoutURLSecrets }
    /// The index among the app's endpoints of the same URL, from zero.
    public var ordinal: Int { delivery.endpoint.ordinal }
    /// Its `time_ms`: the time of its creation, in milliseconds since 1970.
    public var time: Int64 { delivery.time }
    /// The channels of its events, each once.
    public var channels: [String] { delivery.channels }
    /// The events as the JSON text of an array.
    public var eventsJSON: String { "[" + String(decoding: delivery.events, as: UTF8.self) + "]" }
    /// The number of attempts since the broker's last start.
    public var attempts: Int { delivery.attempts }
}
