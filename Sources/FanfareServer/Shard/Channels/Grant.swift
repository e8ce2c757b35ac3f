package import Broker
import PusherProtocol

/// The answer of a home to a subscription request: the messages that the client gets before live events.
///
/// Has the size of one reference, because events, which are far more frequent, share the links with it.
package enum Grant: Sendable {
    /// The acknowledgement; on a presence channel with its members, including the subscriber.
    case live(members: [Member])
    /// The acknowledgement on a cache channel, followed by its last event, or by a cache miss.
    indirect case cached(EventFrame?, members: [Member])

    /// Creates the grant of a home, with its event encoded.
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
