package import Broker
import PusherProtocol

/// What a home sends to the shard of a new subscriber: what the client gets ahead of live events.
///
/// The size of one reference, because events, of which there are far more, share the links with it.
package enum Grant: Sendable {
    /// The acknowledgement; on a presence channel with its members, the subscriber included.
    case live(members: [Member])
    /// The same on a cache channel, followed by its last event, or by the notice that there is none.
    indirect case cached(EventFrame?, members: [Member])

    /// The grant of a home, with its event encoded.
    init(_ grant: ChannelHome.Grant, on channel: ChannelName) {
        switch grant.opening {
        case .live: self = .live(members: grant.members)
        case .cached(let publication):
            self = .cached(EventFrame(publication, channel: channel), members: grant.members)
        case .cacheMiss: self = .cached(nil, members: grant.members)
        }
    }

    /// The members of a presence channel; empty on any other.
    var members: [Member] {
        switch self {
        case .live(let members), .cached(_, let members): members
        }
    }
}
