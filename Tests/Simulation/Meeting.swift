/// What has to happen in some runs, or they would prove little.
package struct Meeting: Hashable, CustomStringConvertible, Sendable {
    package let description: String

    private init(_ description: String) { self.description = description }

    /// A connection was closed with a code.
    package static func close(_ code: Int) -> Meeting { Meeting("close \(code)") }
    /// A connection was cut off without a close frame.
    package static let cut = Meeting("cut")
    /// A request was answered with a status.
    package static func answer(_ status: Int) -> Meeting { Meeting("answer \(status)") }

    package static let grant = Meeting("grant")
    /// A grant came when the client had given the subscription up.
    package static let lateGrant = Meeting("grant behind an unsubscription")
    /// A subscription was refused, with its type.
    package static func refusal(_ type: String) -> Meeting { Meeting("refusal \(type)") }
    /// A subscription was refused for want of room on a presence channel.
    package static let fullChannel = Meeting("full channel")
    package static let arrival = Meeting("arrival of a member")
    package static let departure = Meeting("departure of a member")
    package static let count = Meeting("count of subscribers")
    package static let signIn = Meeting("sign-in")
    package static let watchlist = Meeting("watchlist")

    package static let event = Meeting("event")
    package static let clientEvent = Meeting("client event")
    /// A client event was refused because it came too soon after others.
    package static let tooSoon = Meeting("client event too soon")
    /// A cache channel began with its last event.
    package static let opening = Meeting("opening of a cache channel")
    package static let miss = Meeting("miss of a cache channel")
    /// More was published at once than fits into the queue of a client.
    package static let flood = Meeting("flood")
    package static let settlement = Meeting("settlement")
}
