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
        let isTracked = grant.isTracked
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
            var text: [UInt8] = []
            publication.appendEnvelope(for: name, to: &text)
            send(text, connection)
        }
        for message in grant.replay?.messages ?? [] {
            switch message {
            case .frame(let text): send(text, connection)
            case .leftOut(let serial) where isTracked:
                send(.position(channel: name.text, serial: serial, key: nil), connection)
            case .leftOut: break
            }
        }
    }

    /// Returns the number of the stream that a message belongs to; `nil` if its channel has none.
    private mutating func stream(of name: ChannelName, at now: Duration) -> Int? {
        let address = ChannelAddress(app: app.id, name: name)
        guard channels[name] == nil else {
            channels[name]?.home
                .keepAlways(address, app, sharing: &homeState, at: now.wholeMilliseconds)
            return channels[name]?.home.stream
        }
        return homeState.stream(ofVacant: address, app, at: now.wholeMilliseconds)
    }

    /// Numbers and keeps a message, and sends it to all subscribers but one.
    ///
    /// The excluded connection gets the message's number if it tracks the channel.
    ///
    /// - Parameters:
    ///   - name: The channel.
    ///   - except: The connection that must not receive the message.
    ///   - key: The idempotency key for the receipt to this connection.
    ///   - isEphemeral: Whether the message gets no number and is not kept.
    ///   - now: The time.
    ///   - message: Appends the message with a serial; 0 for none.
    private mutating func distribute(
        on name: ChannelName,
        except: SocketID?,
        receiptOf key: IdempotencyKey? = nil,
        isEphemeral: Bool = false,
        at now: Duration,
        _ message: (UInt64, inout [UInt8]) -> Void
    ) {
        let stream = isEphemeral ? nil : stream(of: name, at: now)
        let serial = stream.map { homeState.streams.nextSerial($0) } ?? 0
        var text: [UInt8] = []
        message(serial, &text)
        if let stream {
            _ = homeState.keep(text, except: except, in: stream, at: now.wholeMilliseconds)
        }
        for connection in channels[name]?.connections ?? [] {
            guard Self.socketID(connection) == except else {
                send(text, connection)
                continue
            }
            let tracks = serial != 0 && sessions[connection]?.tracks(name) == true
            guard tracks || key != nil else { continue }
            let number = tracks ? serial : nil
            send(.position(channel: name.text, serial: number, key: key?.text), connection)
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
            let (address, time) = (ChannelAddress(app: app.id, name: name), now.wholeMilliseconds)
            switch homeState.check(key, digest: event.digest, on: address, at: time) {
            case .new:
                _ = homeState.remember(
                    key,
                    digest: event.digest,
                    position: nil,
                    on: address,
                    of: app,
                    at: time
                )
            case .repeated:
                return send(.receipt(channel: name.text, key: key.text), connection)
            case .conflicting:
                let message = "Client event rejected - another event was sent under its key"
                return send(.error(code: .clientEventRejected, message: message), connection)
            }
        }
        let userID = author.user.map { JSONWriter.token($0.text) }
        distribute(on: name, except: author.socketID, receiptOf: event.key, at: now) {
            event.appendEnvelope(for: name, userID: userID, serial: $0, to: &$1)
        }
    }

    /// Publishes an event of a backend on all its channels.
    mutating func publish(_ publication: Publication, at now: Duration) {
        for name in publication.channels {
            if name.kind.isCache, !publication.isEphemeral {
                let effects = homeState.cache(
                    publication,
                    numbered: stream(of: name, at: now).map { homeState.nextPosition($0) },
                    on: ChannelAddress(app: app.id, name: name),
                    of: app,
                    at: now.wholeMilliseconds
                )
                perform(effects, on: name, at: now)
            }
            distribute(
                on: name,
                except: publication.except,
                isEphemeral: publication.isEphemeral,
                at: now
            ) {
                publication.appendEnvelope(for: name, serial: $0, to: &$1)
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
