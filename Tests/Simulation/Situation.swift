/// A situation that some runs must reach, since a test that never reaches it proves little.
package struct Situation: Hashable, CustomStringConvertible, Sendable {
    package let description: String

    private init(_ description: String) { self.description = description }

    /// A connection was closed with a code.
    package static func close(_ code: Int) -> Situation { Situation("close \(code)") }
    /// A connection ended without a close frame.
    package static let cut = Situation("cut")
    /// A request was answered with a status.
    package static func answer(_ status: Int) -> Situation { Situation("answer \(status)") }

    package static let grant = Situation("grant")
    /// A grant arrived after the client had unsubscribed.
    package static let lateGrant = Situation("grant after an unsubscription")
    /// A subscription was refused, with its type.
    package static func refusal(_ type: String) -> Situation { Situation("refusal \(type)") }
    /// A subscription was refused because the presence channel was full.
    package static let fullChannel = Situation("full channel")
    package static let arrival = Situation("arrival of a member")
    package static let departure = Situation("departure of a member")
    package static let count = Situation("count of subscribers")
    package static let signIn = Situation("sign-in")
    package static let watchlist = Situation("watchlist")

    package static let event = Situation("event")
    package static let clientEvent = Situation("client event")
    /// A client event was refused by the rate limit.
    package static let tooSoon = Situation("client event too soon")
    /// A cache channel began with its last event.
    package static let opening = Situation("opening of a cache channel")
    package static let miss = Situation("miss of a cache channel")
    /// More was published at once than a client's send queue holds.
    package static let flood = Situation("flood")
    /// A device has begun to track a channel.
    package static let tracked = Situation("tracked")
    /// A device has gone on behind its position, where it had missed nothing, or something.
    package static let recoveredNothing = Situation("recovered nothing")
    package static let recovered = Situation("recovered")
    package static let replayed = Situation("replayed event")
    /// A device got the number of an event that excludes it.
    package static let numberAlone = Situation("number of an excluded event")
    /// A client that tracks nothing, or a device that is new, got an event that had come before it.
    package static let earlier = Situation("earlier event")
    package static let trackedEarlier = Situation("tracked from earlier events on")
    /// A channel went on in another stream, and a device was told of it.
    package static let restart = Situation("restart of a stream")
    /// A device was told of a gap, with its reason.
    package static func gap(_ reason: String) -> Situation { Situation("gap \(reason)") }
    /// A stock client has confirmed what it has processed.
    package static let confirmation = Situation("confirmation")
    /// An event came again that was not confirmed.
    package static let repeated = Situation("repeated event")
    /// A page has caught up that was too slow for all that it had missed.
    package static let slowPage = Situation("slow page")
    /// A channel was subscribed again within the grace.
    package static let resubscription = Situation("resubscription within the grace")
    /// An app has loaded a state.
    package static let state = Situation("state")
    /// Two devices use one token.
    package static let twin = Situation("twin")
    /// A device has opened a connection before it has closed the former one.
    package static let overlap = Situation("overlap")
    /// The broker was stopped, or killed, and started again.
    package static let stop = Situation("stop of the broker")
    package static let kill = Situation("kill of the broker")
    /// An endpoint was told of a transition, or again.
    package static let webhook = Situation("webhook")
    package static let repeatedWebhook = Situation("repeated webhook")
    package static let settlement = Situation("settlement")
    /// A replica was promoted that lacks messages of the former primary.
    package static let lostTail = Situation("lost tail")
    /// Something happened to a node, a connection to Redis or a Redis server.
    package static func fault(_ name: String) -> Situation { Situation("fault \(name)") }
}
