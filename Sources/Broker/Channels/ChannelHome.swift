public import PusherProtocol

/// One channel at its home shard: counts subscribers and lists the members of a presence channel.
///
/// It decides the effects of subscriptions, departures and client events.
///
/// A value without I/O: a request goes in, its effects come out, and the caller performs them in order. All effects of
/// a channel travel over one FIFO link to each shard, so every subscriber sees them in the home's order.
public struct ChannelHome: Sendable {
    /// The number of subscribers, by shard.
    public private(set) var subscribers: SubscriberCounts
    /// The members of a presence channel; empty on any other.
    public private(set) var presence = PresenceMembers()
    /// The index of the channel's stream in ``HomeShardState/streams``, or -1.
    private var streamIndex: Int32 = -1

    /// Creates the home of a channel without subscribers.
    ///
    /// - Parameter shard: The number of the home shard.
    public init(on shard: Int) { subscribers = SubscriberCounts(home: shard) }

    /// The index of the channel's stream in ``HomeShardState/streams``; `nil` if its messages have no numbers.
    public var stream: Int? {
        get { streamIndex < 0 ? nil : Int(streamIndex) }
        set { streamIndex = newValue.map(Int32.init) ?? -1 }
    }

    /// Whether the channel has no subscribers.
    public var isVacant: Bool { subscribers.isEmpty }

    /// Counts a subscription, and adds a member to a presence channel that is not full; returns the effects to perform.
    ///
    /// The connection is not subscribed yet. `app` is `nil` if it is no longer served, `archived` are messages of the
    /// archive that precede those in memory, and `now` is in milliseconds of a steady clock.
    public mutating func subscribe(
        _ subscriber: Subscriber,
        to address: ChannelAddress,
        of app: App?,
        sharing state: inout HomeShardState,
        behind archived: ArchivedMessages = ArchivedMessages(),
        at now: Int64
    ) -> [ChannelEffect] {
        var effects: [ChannelEffect] = []
        let membersMax = app?.limits.membersMax ?? 0
        let wasVacant = isVacant
        var arrival = add(subscriber, to: address, sharing: &state, membersMax: membersMax)
        if case .refused = arrival, let first = state.departing.takeFirst(of: address) {
            effects += removeDeparted(first.user, at: address, of: app, sharing: state)
            arrival = add(subscriber, to: address, sharing: &state, membersMax: membersMax)
        }
        if case .refused = arrival { return effects + [.refuse(membersMax: membersMax)] }
        if wasVacant { effects.append(.notify(.occupied)) }
        if let member = subscriber.member {
            if case .returned = arrival { state.departing.remove(member.id, from: address) }
            // Before the grant: the subscriber is added to the fan-out after these notices, and finds itself among the
            // members of the grant.
            effects += notices(on: address, app, state).effects(of: arrival, of: member)
        }
        grant(to: subscriber, on: address, of: app, &state, &effects, behind: archived, at: now)
        // After the grant, so that the subscriber gets the count too.
        updateCount(of: address, app, &state, &effects, at: now)
        return effects
    }

    /// Adds a subscriber whom a store has admitted, which itself announces members and counts; returns the effects to
    /// perform, among them the grant.
    ///
    /// The parameters are those of ``subscribe(_:to:of:sharing:behind:at:)``.
    public mutating func admit(
        _ subscriber: Subscriber,
        to address: ChannelAddress,
        of app: App?,
        sharing state: inout HomeShardState,
        behind archived: ArchivedMessages = ArchivedMessages(),
        at now: Int64
    ) -> [ChannelEffect] {
        // The store has counted the members.
        _ = add(subscriber, to: address, sharing: &state, membersMax: .max)
        var effects: [ChannelEffect] = []
        grant(to: subscriber, on: address, of: app, &state, &effects, behind: archived, at: now)
        return effects
    }

    /// Counts a subscriber, unless it would be one member too many; on a channel without members none is new.
    private mutating func add(
        _ subscriber: Subscriber,
        to address: ChannelAddress,
        sharing state: inout HomeShardState,
        membersMax: Int
    ) -> PresenceMembers.Arrival {
        let arrival = subscriber.member.map {
            presence.add(subscriber.socketID, as: $0, membersMax: membersMax)
        }
        if case .refused = arrival { return .refused }
        let wasVacant = isVacant
        subscribers.add(from: subscriber.shard)
        if wasVacant {
            stream = state.streams.index(of: address)
            if let stream { state.channelBecameOccupied(stream) }
        }
        return arrival ?? .knownMember
    }

    /// Adds the grant of a subscription to the effects, after those that it causes itself.
    private mutating func grant(
        to subscriber: Subscriber,
        on address: ChannelAddress,
        of app: App?,
        _ state: inout HomeShardState,
        _ effects: inout [ChannelEffect],
        behind archived: ArchivedMessages,
        at now: Int64
    ) {
        var replay = app.flatMap {
            self.replay(to: subscriber, address, $0, &state, behind: archived, at: now)
        }
        if let stream { state.streams.countOpened(stream, from: subscriber.addressDigest) }
        var opening = ChannelEffect.Grant.Opening.live
        if replay?.includesOpening(for: subscriber.position) != false {
            opening = state.opening(of: address, ahead: replay, app, &effects, at: now)
        }
        if case .cached = opening { replay?.start.hasOpening = true }
        if let app, let start = replay?.start {
            replay?.start.position = issued(start.position, to: subscriber, address, app)
        }
        let grant = ChannelEffect.Grant(
            members: presence.members,
            opening: opening,
            replay: replay,
            hasPosition: subscriber.position != nil && replay != nil
        )
        effects.append(.grant(grant))
    }

    /// Counts an unsubscription, and announces the departure of a member; returns the effects to perform.
    ///
    /// Observers learn of the departure at once, and the other members after the app's
    /// ``AppFeatures/presenceGrace``, unless the user returns. A channel without subscribers has no members.
    ///
    /// The connection is ignored if its subscription was refused. `app` is `nil` if it is no longer served, and `now`
    /// is in milliseconds of a steady clock.
    public mutating func unsubscribe(
        _ connection: SocketID,
        from shard: Int,
        at address: ChannelAddress,
        of app: App?,
        sharing state: inout HomeShardState,
        now: Int64
    ) -> [ChannelEffect] {
        let grace = app?.features.presenceGrace ?? 0
        let departure = departure(of: connection, from: address, staysMember: grace > 0)
        if case .unknown = departure { return [] }
        var effects: [ChannelEffect] = []
        if case .memberLeft(let user) = departure { effects.append(.notify(.memberRemoved(user))) }
        let limit = remove(from: shard, &state, at: now)
        updateCount(of: address, app, &state, &effects, at: now)
        if isVacant {
            effects.append(.notify(.vacated))
            if let limit { effects.append(.limitMet(limit)) }
            state.departing.removeAll(from: address)
            presence = PresenceMembers()
        } else if case .memberLeft(let user) = departure {
            if grace > 0 {
                state.departing.add(user, from: address, after: grace, at: now)
            } else {
                effects.append(notices(on: address, app, state).departure(of: user))
            }
        }
        return effects
    }

    /// Removes a member that has not returned, and returns the effects to perform; `app` is `nil` if it is no longer
    /// served.
    ///
    /// The member is one of ``HomeShardState/takeDeparted(atMost:at:)``.
    public mutating func removeDeparted(
        _ user: UserID,
        at address: ChannelAddress,
        of app: App?,
        sharing state: borrowing HomeShardState
    ) -> [ChannelEffect] {
        guard presence.removeDeparting(user) else { return [] }
        return [notices(on: address, app, state).departure(of: user)]
    }

    /// The notices for a channel of the present number of members; in a large one, each costs a send to every member.
    private func notices(
        on address: ChannelAddress,
        _ app: App?,
        _ state: borrowing HomeShardState
    ) -> MemberNotices {
        let isLarge = presence.members.count > state.smallPresenceChannelMax
        let delayMax = isLarge ? app?.features.presenceNoticeDelay ?? 0 : 0
        return MemberNotices(channel: address.name, delayMax: delayMax)
    }

    /// Removes a subscriber of a channel that a store shares; the parameters are those of
    /// ``unsubscribe(_:from:at:of:sharing:now:)``.
    ///
    /// - Returns: Whether it was subscribed, the user of whom it was the last connection, and the limit that made the
    ///   shard forget a stream, if any.
    public mutating func dismiss(
        _ connection: SocketID,
        from shard: Int,
        at address: ChannelAddress,
        sharing state: inout HomeShardState,
        now: Int64
    ) -> (wasSubscribed: Bool, departed: UserID?, limit: Limit?) {
        let departure = departure(of: connection, from: address, staysMember: false)
        if case .unknown = departure { return (false, nil, nil) }
        let limit = remove(from: shard, &state, at: now)
        guard case .memberLeft(let user) = departure else { return (true, nil, limit) }
        return (true, user, limit)
    }

    /// Removes the connection from the members of a presence channel; on others no member leaves.
    private mutating func departure(
        of connection: SocketID,
        from address: ChannelAddress,
        staysMember: Bool
    ) -> PresenceMembers.Departure {
        guard address.name.kind.isPresence else { return .memberStays }
        return presence.remove(connection, staysMember: staysMember)
    }

    /// Counts a subscriber no longer; returns the limit that made the shard forget a stream, if any.
    private mutating func remove(
        from shard: Int,
        _ state: inout HomeShardState,
        at now: Int64
    ) -> Limit? {
        subscribers.remove(from: shard)
        guard isVacant, let stream else { return nil }
        let (isForgotten, limit) = state.streams.wasLeft(stream, at: now)
        if isForgotten { self.stream = nil }
        return limit
    }

    /// Begins to number the channel's messages for a backend that requests its position.
    public mutating func openStream(
        _ address: ChannelAddress,
        _ app: App?,
        sharing state: inout HomeShardState,
        at now: Int64
    ) {
        if stream == nil { stream = state.openStream(address, app, isVacant: isVacant, at: now) }
    }

    // MARK: - Events

    /// Decides on an event, without publishing it; ``HomeShardState/record(_:as:in:on:of:at:)`` follows.
    ///
    /// The channel's messages are numbered from now on if the event or the channel's rule requires it. `app` is `nil`
    /// if it is no longer served, or if neither does; `now` is in milliseconds of a steady clock.
    public mutating func decide(
        on event: ProposedEvent,
        at address: ChannelAddress,
        of app: App?,
        sharing state: inout HomeShardState,
        now: Int64
    ) -> EventDecision {
        if let key = event.key {
            switch state.check(key, digest: event.digest, on: address, at: now) {
            case .new: break
            case .repeated(let position): return .repeated(position)
            case .conflicting: return .conflicting
            }
        }
        let stream = stream(of: event, address, app, &state, at: now)
        if let expected = event.ifPosition {
            let last = stream.map { state.streams[$0].position }
            guard expected == last else { return .outdated(last) }
        }
        return .publish(stream: stream)
    }

    /// The index of the stream that an event belongs to; `nil` if it is not numbered, like most.
    private mutating func stream(
        of event: ProposedEvent,
        _ address: ChannelAddress,
        _ app: App?,
        _ state: inout HomeShardState,
        at now: Int64
    ) -> Int? {
        var stream = stream
        if stream == nil {
            if event.needsPosition {
                stream = state.openStream(address, app, isVacant: isVacant, at: now)
            } else if isVacant {
                stream = state.stream(ofVacant: address, app, at: now)
            } else {
                stream = state.openKept(address, app, isVacant: false, at: now)
            }
            // The stream of a vacant channel may be forgotten before the channel has subscribers.
            if !isVacant { self.stream = stream }
        }
        guard let stream, event.isNumbered(by: state.streams[stream].rule) else { return nil }
        return stream
    }

    /// Decides what a subscriber gets if it tracks its position, or if its channel opens with earlier messages.
    ///
    /// The channel's messages are numbered from now on.
    private mutating func replay(
        to subscriber: Subscriber,
        _ address: ChannelAddress,
        _ app: App,
        _ state: inout HomeShardState,
        behind archived: ArchivedMessages,
        at now: Int64
    ) -> Replay? {
        let settings = app.recovery
        guard
            subscriber.position != nil
                || settings.isEnabled && settings.rule(of: address.name).opening != .live
        else { return nil }
        if stream == nil { stream = state.openStream(address, app, isVacant: false, at: now) }
        guard let stream else { return nil }
        var request = subscriber.position
        if let position = request?.position {
            request?.position = app.position(issuedAs: position, on: address.name)
        }
        if let former = archived.former { request?.position = former.start }
        var replay = state.streams.replay(
            stream,
            for: request,
            of: subscriber.socketID,
            settings,
            behind: archived,
            at: now
        )
        if let former = archived.former, case .recovered = replay.start.continuity {
            let socketIDs = [subscriber.socketID] + (request?.formerSocketIDs ?? [])
            replay.former = former.streams.map { stream in
                let issued = issued(stream.position, to: subscriber, address, app)
                return stream.replay(at: issued, for: socketIDs)
            }
        }
        return replay
    }

    /// The form of a position for the client, which is the position itself unless it begins where the client joined.
    ///
    /// A client that continues from its own position keeps that form.
    private func issued(
        _ position: ChannelPosition,
        to subscriber: Subscriber,
        _ address: ChannelAddress,
        _ app: App
    ) -> ChannelPosition {
        if let own = subscriber.position?.position,
            app.position(issuedAs: own, on: address.name) == position
        {
            return own
        }
        return app.issuedPosition(position, on: address.name)
    }

    /// The sender of a client event, with the user on a presence channel; `nil` if it is not a member.
    public func author(_ connection: SocketID, on channel: ChannelName) -> ClientEventAuthor? {
        guard channel.kind.isPresence else { return ClientEventAuthor(socketID: connection) }
        return presence.user(of: connection).map {
            ClientEventAuthor(socketID: connection, user: $0)
        }
    }

    /// Announces a number of subscribers that a large channel has not announced yet.
    ///
    /// The channel is one of ``HomeShardState/takeDueCounts(at:)``; `app` is `nil` if it is no longer served.
    public func announceCount(of address: ChannelAddress, of app: App?) -> [ChannelEffect] {
        guard Self.announcesCounts(of: address, app) else { return [] }
        return Self.announcement(of: subscribers.total, on: address)
    }

    // MARK: - Notices

    private mutating func updateCount(
        of address: ChannelAddress,
        _ app: App?,
        _ state: inout HomeShardState,
        _ effects: inout [ChannelEffect],
        at now: Int64
    ) {
        guard Self.announcesCounts(of: address, app) else { return }
        let count = subscribers.total
        if state.countNotices.changed(address, to: count, at: now) {
            effects += Self.announcement(of: count, on: address)
        } else if count == 0 {
            effects.append(.notify(.subscriptionCount(0)))
        }
    }

    private static func announcement(of count: Int, on address: ChannelAddress) -> [ChannelEffect] {
        let notice = ServerMessage.subscriptionCount(channel: address.name.text, count: count)
        return [.notify(.subscriptionCount(count)), .fanOut(notice, delayMax: 0)]
    }

    /// Whether the broker sends the number of subscribers to the subscribers of a channel.
    ///
    /// Presence channels announce members instead, and a user's own channel announces nothing.
    public static func announcesCounts(of address: ChannelAddress, _ app: App?) -> Bool {
        app?.features.subscriptionCount == true && !address.name.kind.isPresence
            && address.name.kind != .serverToUser
    }
}
