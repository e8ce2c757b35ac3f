import Broker
import Primitives
import PusherProtocol

/// Channels: subscribers in the order of their subscriptions, and homes, with the rules of `Broker`.
extension BrokerState {
    mutating func join(
        _ name: ChannelName,
        _ connection: Int,
        as member: Member?,
        request: UInt32,
        at now: Duration
    ) {
        let address = ChannelAddress(app: app.id, name: name)
        var channel = channels.removeValue(forKey: name) ?? Channel()
        let effects = channel.home.subscribe(
            Subscriber(Self.socketID(connection), shard: 0, member: member),
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
        _ effects: [ChannelHome.Effect],
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
        _ grant: ChannelHome.Grant,
        of name: ChannelName,
        _ connection: Int,
        request: UInt32
    ) {
        guard sessions[connection]?.granted(name, request: request) == true else { return }
        send(.subscriptionSucceeded(channel: name, members: grant.members), connection)
        channels[name]?.connections.append(connection)
        switch grant.opening {
        case .live: break
        case .cacheMiss: send(.cacheMiss(channel: name.text), connection)
        case .cached(let publication):
            var text: [UInt8] = []
            publication.appendEnvelope(for: name, to: &text)
            send(text, connection)
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
        if let key = event.key {
            let (verdict, _) = homeState.check(
                key,
                digest: event.digest,
                on: ChannelAddress(app: app.id, name: name),
                of: app,
                at: now.wholeMilliseconds
            )
            guard verdict != .conflicting else {
                let message = "Client event rejected - another event was sent under its key"
                return send(.error(code: .clientEventRejected, message: message), connection)
            }
            send(.receipt(channel: name.text, key: key.text), connection)
            guard verdict == .new else { return }
        }
        var text: [UInt8] = []
        event.appendEnvelope(
            for: name,
            userID: author.user.map { JSONWriter.token($0.text) },
            to: &text
        )
        for other in channel.connections where other != connection { send(text, other) }
    }

    /// Publishes an event of a backend on all its channels.
    mutating func publish(_ publication: Publication, at now: Duration) {
        for name in publication.channels {
            if name.kind.isCache {
                let address = ChannelAddress(app: app.id, name: name)
                let time = now.wholeMilliseconds
                let effects = homeState.cache(publication, on: address, of: app, at: time)
                perform(effects, on: name, at: now)
            }
            var text: [UInt8] = []
            publication.appendEnvelope(for: name, to: &text)
            for connection in channels[name]?.connections ?? []
            where Self.socketID(connection) != publication.except {
                send(text, connection)
            }
        }
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
