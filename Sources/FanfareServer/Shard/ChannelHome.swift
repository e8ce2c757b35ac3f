import Broker
import Net
import PusherProtocol

/// What a shard does for the channels whose home it is: it alone counts their subscribers and orders their events.
extension ShardCore {
    /// Counts a connection in, on a presence channel as a member, if there is room.
    func admit(_ caller: Caller, to address: ChannelAddress, as member: Member?) {
        let channel = channels.open(address)
        if let member {
            guard enter(caller, in: channel, at: address, as: member) else { return }
        } else {
            let isFirst = channel.attendance.isVacant
            channel.attendance.join(from: caller.shard)
            if isFirst { becameOccupied(channel, at: address) }
        }
        let members = channel.attendance.members
        let grant: Grant =
            address.name.kind.isCache
            ? .cached(opening(of: address), members: members) : .live(members: members)
        if caller.shard == links.shard {
            seat(caller, in: channel, grant)
        } else {
            links.send(.granted(address, caller, grant), to: caller.shard)
        }
        // Behind the grant on every line, so that who joins is told too.
        countChanged(of: channel, at: address)
    }

    /// Lets a connection in as a member, if there is room, and tells the others of one who is new.
    private func enter(
        _ caller: Caller,
        in channel: Channel,
        at address: ChannelAddress,
        as member: Member
    ) -> Bool {
        let membersMax = registry.apps[address.app]?.limits.membersMax ?? 0
        let isFirst = channel.attendance.isVacant
        let arrival = channel.attendance.join(
            caller.socketID,
            from: caller.shard,
            as: member,
            membersMax: membersMax
        )
        switch arrival {
        case .refused:
            closeIfVacant(channel, at: address)
            send(.refused(address, caller, membersMax: membersMax), to: caller.shard)
        case .ofConnection: break
        case .ofMember:
            if isFirst { becameOccupied(channel, at: address) }
            tell(.memberAdded(member.id), on: address)
            // Ahead of the grant on every line: who joins is seated behind this notice, and finds themself in the list
            // that comes with the grant.
            announceMember(.memberAdded(member, to: channel.name), on: channel, at: address)
        }
        return arrival != .refused
    }

    /// Strikes a connection off, and tells the others when a member is gone with it.
    func dismiss(
        _ connection: SocketID,
        of shard: Int,
        from channel: Channel,
        at address: ChannelAddress
    ) {
        var notice: ServerMessage?
        if channel.name.kind.isPresence {
            let departure = channel.attendance.leave(connection, from: shard)
            // Only the last connection of a user can be the last of all.
            guard case .ofMember(let user) = departure else { return }
            tell(.memberRemoved(user), on: address)
            notice = .memberRemoved(channel: channel.name.text, userID: user.text)
        } else {
            channel.attendance.leave(from: shard)
        }
        countChanged(of: channel, at: address)
        guard !channel.attendance.isVacant else {
            channels.becameVacant(channel, of: address.app)
            return tell(.vacated, on: address)
        }
        if let notice { announceMember(notice, on: channel, at: address) }
    }

    private func becameOccupied(_ channel: Channel, at address: ChannelAddress) {
        channels.becameOccupied(channel, of: address.app)
        tell(.occupied, on: address)
    }

    /// Puts a notice of a member's arrival or departure in order among the channel's events.
    ///
    /// In a large channel it may wait for others, since it costs a send to every member: see
    /// ``AppFeatures/presenceNoticeDelay``.
    private func announceMember(
        _ notice: ServerMessage,
        on channel: Channel,
        at address: ChannelAddress
    ) {
        let isLarge = channel.attendance.memberCount > settings.smallPresenceChannelMax
        let delay = isLarge ? registry.apps[address.app]?.features.presenceNoticeDelay ?? 0 : 0
        let frame = EventFrame(notice, delayMax: UInt16(clamping: delay))
        relay(frame, on: channel, at: address, except: nil)
    }

    /// Puts a notice of the broker's own in order among the channel's events.
    func announce(
        _ notice: ServerMessage,
        on channel: Channel,
        at address: ChannelAddress
    ) {
        relay(EventFrame(notice), on: channel, at: address, except: nil)
    }

    /// Puts an event in the order of its channel, encodes it once and sends it where the channel has subscribers.
    ///
    /// - Parameters:
    ///   - publication: The event.
    ///   - channel: The channel; `nil` if nobody is subscribed.
    ///   - address: The channel's address.
    func sequence(_ publication: Publication, on channel: Channel?, at address: ChannelAddress) {
        publishedCount &+= 1
        if address.name.kind.isCache { keep(publication, on: address) }
        guard let channel else { return }
        let frame = EventFrame(publication, channel: address.name)
        relay(frame, on: channel, at: address, except: publication.except)
    }

    /// Sends a frame where the channel has subscribers.
    func relay(
        _ frame: EventFrame,
        on channel: Channel,
        at address: ChannelAddress,
        except: SocketID?
    ) {
        let shardsElsewhere = channel.attendance.shardsElsewhere
        for shard in shardsElsewhere {
            links.send(.deliver(address, frame, except: except), to: shard)
        }
        if !shardsElsewhere.isEmpty {
            channel.unconfirmedLength += Int32(clamping: frame.bytes.count)
            if channel.unconfirmedLength >= reactor.batchLengthMax {
                awaitConfirmation(of: channel, at: address, by: shardsElsewhere)
            }
        }
        deliver(frame, on: channel, at: address, except: except)
    }
}
