package import Broker
import PusherProtocol

/// The answer of a home to a subscription request, with the messages that the client gets before live events.
///
/// It has the size of one reference, because events, which are far more frequent, share the links with it.
package enum Grant: Sendable {
    /// The acknowledgement; on a presence channel with its members, including the subscriber.
    case live(members: [Member])
    /// The acknowledgement on a cache channel, followed by its last event, or by a cache miss.
    indirect case cached(Envelope?, members: [Member])
    /// The acknowledgement of a client that tracks its position, followed by what it missed.
    ///
    /// On a cache channel the last event may precede that.
    indirect case tracked(Replay, members: [Member], cached: CachedOpening)
    /// The acknowledgement of a client that does not track its position, followed by earlier messages.
    ///
    /// On a cache channel the last event may precede them.
    indirect case opened([ReplayedMessage], members: [Member], cached: CachedOpening)

    /// The cached event or miss before the replay on a cache channel.
    package enum CachedOpening: Sendable {
        case nothing
        case event(Envelope)
        case miss
    }

    /// Creates the grant of a home, with its event encoded.
    ///
    /// In a cluster, `shared` is the cached event that the nodes share, and `nil` if a cache channel has none;
    /// `members` are the members on all nodes. Without `members`, those of the grant are used.
    init(
        _ grant: ChannelEffect.Grant,
        on channel: ChannelName,
        shared: CachedOpening? = nil,
        members: [Member]? = nil
    ) {
        let members = members ?? grant.members
        if let replay = grant.replay {
            var replay = replay
            let cached: CachedOpening =
                switch grant.opening {
                case .live: .nothing
                case .cached(let publication):
                    .event(Envelope(.publication(publication), channel: channel))
                case .cacheMiss: shared ?? .miss
                }
            if case .event = cached { replay.start.hasOpening = true }
            self =
                grant.hasPosition
                ? .tracked(replay, members: members, cached: cached)
                : .opened(replay.messages, members: members, cached: cached)
            return
        }
        switch grant.opening {
        case .live: self = .live(members: members)
        case .cached(let publication):
            let envelope = Envelope(.publication(publication), channel: channel)
            self = .cached(envelope, members: members)
        case .cacheMiss:
            if case .event(let envelope) = shared {
                self = .cached(envelope, members: members)
            } else {
                self = .cached(nil, members: members)
            }
        }
    }

    /// Whether the subscription has a position: kept by the client, or for its session token by the broker.
    var hasPosition: Bool {
        if case .tracked = self { true } else { false }
    }

    /// The members of a presence channel; empty on any other.
    var members: [Member] {
        switch self {
        case .live(let members), .cached(_, let members), .tracked(_, let members, _),
            .opened(_, let members, _):
            members
        }
    }
}
