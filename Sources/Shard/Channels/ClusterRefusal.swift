package import PusherProtocol

/// Why a message is not published in a cluster.
package enum ClusterRefusal: Sendable, Hashable {
    /// Redis has been unreachable for longer than messages wait.
    case disconnected
    /// The connection has ended before the answer.
    case unanswered
    /// Redis has executed it, but only this number of the required replicas has confirmed it.
    case unconfirmed(Int, of: Int)
    /// Too many bytes wait for Redis.
    case full
    /// Redis has refused it, with this text.
    case refused(String)

    /// The text for the publisher.
    package var text: String {
        switch self {
        case .disconnected:
            "Redis cannot be reached: an event of the request is not published, try again in a "
                + "second"
        case .unanswered:
            "The connection to Redis was lost: it is unknown whether an event of the request is "
                + "published; a request with an idempotency_key can be repeated safely"
        case .unconfirmed(let count, let needed):
            "Only \(count) of \(needed) Redis replicas have confirmed an event of the request in "
                + "time: it may have been published, and may be lost if Redis fails over; a "
                + "request with an idempotency_key can be repeated safely"
        case .full:
            "Too many events wait for Redis: an event of the request is not published, try again "
                + "in a second"
        case .refused(let text):
            "Redis refused an event of the request, which is not published: \(text)"
        }
    }

    /// The text for the author of a client event.
    func text(ofClientEventOn channel: ChannelName) -> String {
        switch self {
        case .unanswered:
            "Client event on \(channel.text) may not have been published - the connection to Redis was lost"
        case .unconfirmed:
            "Client event on \(channel.text) may be lost - too few replicas of Redis have confirmed it"
        case .disconnected, .full, .refused:
            "Client event rejected - \(channel.text) cannot be published to at present, try again in a second"
        }
    }
}

extension APIError {
    /// The error of a query that a cluster's Redis does not answer.
    package static var redisUnreadable: APIError {
        APIError(
            status: 503,
            message: "Redis cannot be read at present: try again in a second"
        )
    }
}
