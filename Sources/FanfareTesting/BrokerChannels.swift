import Broker
import Primitives
import PusherProtocol

/// Who is on which channel, and what goes over it.
extension BrokerState {
    mutating func join(
        _ name: ChannelName,
        _ connection: Int,
        as member: Member?,
        request: UInt32,
        at now: Duration
    ) {
        let socketID = Self.socketID(connection)
        var audience = channels[name] ?? Audience()
        if let member {
            let membersMax = settings.membersMax
            switch audience.presence.join(socketID, as: member, membersMax: membersMax) {
            case .refused:
                let effects = sessions[connection]?.refused(
                    name,
                    request: request,
                    .full(name, membersMax: membersMax),
                    now: now.wholeNanoseconds
                )
                return perform(effects ?? [], connection, at: now)
            case .ofMember:
                tell(.memberAdded(member, to: name), audience.connections)
            case .ofConnection: break
            }
        }
        guard sessions[connection]?.granted(name, request: request) == true else { return }
        tell(.subscriptionSucceeded(channel: name, members: audience.presence.members), connection)
        audience.connections.append(connection)
        channels[name] = audience
        if name.kind.isCache { open(name, connection, at: now) }
        countChanged(name, at: now)
    }

    /// Begins a cache channel with its last event, or with the word that there is none.
    private mutating func open(_ name: ChannelName, _ connection: Int, at now: Duration) {
        let entry = cache.event(
            on: ChannelAddress(app: app.id, name: name),
            at: now.wholeMilliseconds
        )
        guard let entry else { return tell(.cacheMiss(channel: name.text), connection) }
        var text: [UInt8] = []
        entry.publication.appendEnvelope(for: name, to: &text)
        tell(text, connection)
    }

    mutating func leave(_ name: ChannelName, _ connection: Int, at now: Duration) {
        guard var audience = channels.removeValue(forKey: name) else { return }
        audience.connections.removeAll { $0 == connection }
        let departure = audience.presence.leave(Self.socketID(connection))
        if !audience.connections.isEmpty { channels[name] = audience }
        if case .ofMember(let user) = departure {
            let notice = ServerMessage.memberRemoved(channel: name.text, userID: user.text)
            tell(notice, audience.connections)
        }
        countChanged(name, at: now)
    }

    mutating func publish(
        _ event: ClientEvent,
        on name: ChannelName,
        from connection: Int
    ) {
        guard let audience = channels[name] else { return }
        let user = audience.presence.user(of: Self.socketID(connection))
        var text: [UInt8] = []
        event.appendEnvelope(
            for: name,
            userID: user.map { JSONWriter.token($0.text) },
            to: &text
        )
        for other in audience.connections where other != connection {
            tell(text, other)
        }
    }

    /// Takes an event of a backend, to every channel that it names.
    mutating func publish(_ publication: Publication, at now: Duration) {
        for name in publication.channels {
            if name.kind.isCache {
                cache.store(
                    publication,
                    on: ChannelAddress(app: app.id, name: name),
                    at: now.wholeMilliseconds,
                    lifetime: settings.cacheLifetime.wholeMilliseconds,
                    eventsMax: app.limits.cachedEventsMax
                )
            }
            var text: [UInt8] = []
            publication.appendEnvelope(for: name, to: &text)
            for connection in channels[name]?.connections ?? []
            where Self.socketID(connection) != publication.except {
                tell(text, connection)
            }
        }
    }

    private mutating func countChanged(_ name: ChannelName, at now: Duration) {
        guard settings.tellsSubscriptionCounts, !name.kind.isPresence,
            name.kind != .serverToUser
        else { return }
        let count = channels[name]?.connections.count ?? 0
        let address = ChannelAddress(app: app.id, name: name)
        if counts.changed(address, to: count, at: now.wholeMilliseconds) { tellCount(name) }
    }

    mutating func tellCount(_ name: ChannelName) {
        let connections = channels[name]?.connections ?? []
        let notice = ServerMessage.subscriptionCount(
            channel: name.text,
            count: connections.count
        )
        tell(notice, connections)
    }
}
