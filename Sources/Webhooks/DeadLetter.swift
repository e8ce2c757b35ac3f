public import Broker

/// A webhook that was given up, kept so that somebody can look at it and send it again.
public struct DeadLetter: Sendable, Equatable {
    /// Why a webhook is given up.
    public enum Cause: String, Sendable {
        /// Every attempt failed until receivers would have refused it as too old.
        case exhausted
        /// The endpoint answered 410: it does not want any more.
        case gone
        /// It was too old before it could be sent.
        case expired
        /// It had to make room for newer ones.
        case overflow
        /// The app or the endpoint is not configured any more.
        case unconfigured
    }

    /// The `X-Delivery-Id` that it had.
    public let id: Int64
    /// Whose event it tells of.
    public let app: AppID
    /// Where it should have gone.
    public let url: String
    /// The place among the app's endpoints of the same URL, from zero.
    public let ordinal: Int
    /// Its `time_ms`: when it was made, in milliseconds since 1970.
    public let time: Int64
    /// The channels that it tells of, each once.
    public let channels: [String]
    /// The events as the JSON text of an array.
    public var eventsJSON: String { "[" + String(decoding: events, as: UTF8.self) + "]" }
    /// Why it was given up.
    public let cause: Cause
    /// The last thing that went wrong, as a sentence without its full stop.
    public let detail: String
    /// The attempts made since the broker's last start.
    public let attempts: Int
    /// When it was given up, in milliseconds since 1970.
    public let deathTime: Int64
    /// Whether it is going to be sent again, as soon as a broker with this file runs.
    public let isReplayed: Bool

    /// The objects of `events`, with commas between them.
    let events: [UInt8]
}

extension DeadLetter {
    /// The dead letter that a webhook becomes.
    ///
    /// - Parameters:
    ///   - delivery: The webhook.
    ///   - cause: Why it is given up.
    ///   - detail: The last thing that went wrong.
    ///   - now: The time, in milliseconds since 1970.
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

    /// Where it should have gone.
    var endpoint: EndpointKey { EndpointKey(app: app, url: url, ordinal: ordinal) }
}
