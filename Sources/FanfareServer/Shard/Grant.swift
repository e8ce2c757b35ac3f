import Broker

/// What a home says to a connection that it counts as a subscriber from here on: what comes ahead of the live events.
///
/// The size of one reference, since events, of which there are far more, share the links with it.
enum Grant: Sendable {
    /// Nothing but the acknowledgement; on a presence channel with its members, the newcomer included.
    case live(members: [Member])
    /// Of a cache channel, behind the acknowledgement: its last event, or `nil` for the word that there is none.
    indirect case cached(EventFrame?, members: [Member])

    /// Who is on a presence channel; nobody on any other.
    var members: [Member] {
        switch self {
        case .live(let members), .cached(_, let members): members
        }
    }
}
