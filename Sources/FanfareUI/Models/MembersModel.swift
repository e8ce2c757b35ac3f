public import FanfareClient

/// The members of a presence channel, for views.
///
/// The model holds a lease: the channel stays subscribed until the model is released. After a disconnect the last known
/// members stay; the reconnection replaces them.
@MainActor public final class MembersModel: ObservedModel {
    /// All members, in the order in which this client learned of them; empty before the broker has sent them.
    @Observed public private(set) var members: [PresenceMember]
    /// This client's own user; `nil` before the broker has sent the members.
    @Observed public private(set) var me: PresenceMember?

    private let subscription: ChannelSubscription
    private var token: ListenerToken?

    /// Subscribes to a presence channel.
    ///
    /// - Parameter channel: The channel, whose name begins with `presence-`.
    public init(of channel: Channel) {
        subscription = channel.subscription()
        let roster = channel.presence.roster
        members = roster?.members ?? []
        me = roster?.me
        super.init()
        token = channel.presence.onChange { [weak self] change in
            self?.members = change.roster.members
            self?.me = change.roster.me
        }
    }

    deinit { token?.cancel() }
}
