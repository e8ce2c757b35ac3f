import PusherProtocol

/// What the observers and the subscribers of a presence channel learn of arrivals and departures.
///
/// Observers learn of a departure at once, because webhooks have a delay of their own. Subscribers learn of it when the
/// user has not returned in time.
struct MemberNotices {
    let channel: ChannelName
    /// The maximum delay of each notice, in milliseconds.
    let delayMax: Int

    /// The effects of an arrival: announces a member that is new, or has returned with another info.
    func effects(of arrival: PresenceMembers.Arrival, of member: Member) -> [ChannelEffect] {
        switch arrival {
        case .knownMember, .refused: []
        case .newMember: [.notify(.memberAdded(member.id)), self.arrival(of: member)]
        case .returned(isChanged: false): [.notify(.memberAdded(member.id))]
        case .returned(isChanged: true):
            [.notify(.memberAdded(member.id)), departure(of: member.id), self.arrival(of: member)]
        }
    }

    /// The notice of an arrival.
    private func arrival(of member: Member) -> ChannelEffect {
        .fanOut(.memberAdded(member, to: channel), delayMax: delayMax)
    }

    /// The notice of a departure.
    func departure(of user: UserID) -> ChannelEffect {
        .fanOut(.memberRemoved(channel: channel.text, userID: user.text), delayMax: delayMax)
    }
}
