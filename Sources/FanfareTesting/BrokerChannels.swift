import Broker
import Primitives
import PusherProtocol

/// The channels: subscribers in the order of their subscriptions, and homes, with the rules of `Broker`.
extension BrokerState {
    mutating func join(
        _ name: ChannelName,
        _ connection: Int,
        as member: Member?,
        from position: PositionRequest? = nil,
        request: UInt32,
        at now: Duration
    ) {
        let address = ChannelAddress(app: app.id, name: name)
        var channel = channels.removeValue(forKey: name) ?? Channel()
        let effects = channel.home.subscribe(
            Subscriber(Self.socketID(connection), shard: 0, member: member, position: position),
            to: address,
            of: app,
            sharing: &homeState,
            at: now.wholeMilliseconds
        )
        if !channel.home.isVacant { channels[name] = channel }
        perform(effects, on: name, for: (connection, request), at: now)
    }

    mutating func leave(_ name: ChannelName, _ connection: Int, at now: Duration) {
        guard var channel = channels.removeValue(forKey: name) else { return }
        channel.connections.removeAll { $0 == connection }
        let effects = channel.home.unsubscribe(
            Self.socketID(connection),
            from: 0,
            at: ChannelAddress(app: app.id, name: name),
            of: app,
            sharing: &homeState,
            now: now.wholeMilliseconds
        )
        if !channel.home.isVacant { channels[name] = channel }
        perform(effects, on: name, at: now)
    }

    /// Performs the effects of a home.
    mutating func perform(
        _ effects: [ChannelEffect],
        on name: ChannelName,
        for subscriber: (connection: Int, request: UInt32)? = nil,
        at now: Duration
    ) {
        for effect in effects {
            switch effect {
            case .fanOut(let notice, _): send(notice, channels[name]?.connections ?? [])
            case .grant(let grant):
                guard let (connection, request) = subscriber else { continue }
                complete(grant, of: name, connection, request: request)
            case .refuse(let membersMax):
                guard let (connection, request) = subscriber else { continue }
                let effects = sessions[connection]?.refused(
                    name,
                    request: request,
                    .full(name, membersMax: membersMax),
                    now: now.wholeNanoseconds
                )
                perform(effects ?? [], connection, at: now)
            case .notify, .limitMet: break
            }
        }
    }

    private mutating func complete(
        _ grant: ChannelEffect.Grant,
        of name: ChannelName,
        _ connection: Int,
        request: UInt32
    ) {
        let isTracked = grant.hasPosition
        guard
            sessions[connection]?.granted(name, request: request, isTracked: isTracked) == true
        else { return }
        let start = isTracked ? grant.replay?.start : nil
        send(
            .subscriptionSucceeded(channel: name, members: grant.members, start: start),
            connection
        )
        channels[name]?.connections.append(connection)
        switch grant.opening {
        case .live: break
        case .cacheMiss: send(.cacheMiss(channel: name.text), connection)
        case .cached(let publication):
            send(Envelope(.publication(publication), channel: name), connection)
        }
        for message in grant.replay?.messages ?? [] {
            switch message {
            case .envelope(let envelope): send(envelope, connection)
            case .leftOut(let serial) where isTracked:
                send(.position(channel: name.text, serial: serial, key: nil), connection)
            case .leftOut: break
            }
        }
    }

    mutating func publish(
        _ event: ClientEvent,
        on name: ChannelName,
        from connection: Int,
        at now: Duration
    ) {
        guard let channel = channels[name],
            let author = channel.home.author(Self.socketID(connection), on: name)
        else { return }
        switch publish(.clientEvent(event, author), on: name, at: now) {
        case .publish, .outdated: break
        case .repeated:
            guard let key = event.key else { return }
            send(.receipt(channel: name.text, key: key.text), connection)
        case .conflicting:
            let message = "Client event rejected - another event was sent under its key"
            send(.error(code: .clientEventRejected, message: message), connection)
        }
    }

    /// Publishes an event of a backend on all its channels.
    mutating func publish(_ publication: Publication, at now: Duration) {
        let event = ProposedEvent.publication(publication)
        for name in publication.channels { _ = publish(event, on: name, at: now) }
    }

    /// Decides on an event, records it, and sends it to all subscribers but one.
    ///
    /// The excluded connection gets the event's number if it tracks the channel.
    private mutating func publish(
        _ event: ProposedEvent,
        on name: ChannelName,
        at now: Duration
    ) -> EventDecision {
        let (address, time) = (ChannelAddress(app: app.id, name: name), now.wholeMilliseconds)
        var home = channels[name]?.home ?? ChannelHome(on: 0)
        let decision = home.decide(on: event, at: address, of: app, sharing: &homeState, now: time)
        channels[name]?.home = home
        guard case .publish(let stream) = decision else { return decision }
        let serial = stream.map { homeState.streams.nextSerial($0) } ?? 0
        let envelope = Envelope(event, channel: name, serial: serial)
        let effects = homeState.record(
            event,
            as: envelope,
            in: stream,
            on: address,
            of: app,
            at: time,
            now: time
        )
        perform(effects, on: name, at: now)
        for connection in channels[name]?.connections ?? [] {
            guard Self.socketID(connection) == event.except else {
                send(envelope, connection)
                continue
            }
            let key = event.receiptKey
            let tracks = serial != 0 && sessions[connection]?.tracks(name) == true
            guard tracks || key != nil else { continue }
            let number = tracks ? serial : nil
            send(.position(channel: name.text, serial: number, key: key?.text), connection)
        }
        return decision
    }

    /// Announces the counts that are due.
    mutating func announceCounts(at now: Duration) {
        for address in homeState.takeDueCounts(at: now.wholeMilliseconds) {
            guard let channel = channels[address.name] else { continue }
            let effects = channel.home.announceCount(of: address, of: app)
            perform(effects, on: address.name, at: now)
        }
    }
}
