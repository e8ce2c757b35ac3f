import PusherProtocol

/// What devices receive, and the checks of it.
extension ClusterWorld {
    func receive(
        _ frame: SimulatedClient.ReceivedFrame,
        _ device: ClusterDevice,
        _ connection: ClusterConnection
    ) throws {
        trace.record { "    \(device.name) receives \(frame)" }
        switch frame {
        case .message(let message): try receive(message, device, connection)
        case .ping(let payload): connection.transport.answer(payload, mask: ClusterConnection.mask)
        case .pong: break
        case .close(let code):
            reach(.close(code ?? 0))
            // 4100: the node has no Redis. 4200: messages may be missing. 4201: the node stood still.
            guard [4100, 4200, 4201].contains(code) else {
                throw device.broken(.closing, "was closed with \(code ?? 0)")
            }
            lose(device)
        }
    }

    private func receive(
        _ message: ServerMessage,
        _ device: ClusterDevice,
        _ connection: ClusterConnection
    ) throws {
        switch message {
        case .connectionEstablished(let id, _, _):
            try checkIdentity(id, device)
            connection.socketID = id
            for channel in device.followed.sorted() { subscribe(device, channel) }
        case .pong: if !connection.leaving.isEmpty { connection.leaving.removeFirst() }
        case .subscriptionSucceeded(let channel, let data):
            try receive(grant: data, on: try index(channel), device, connection)
        case .subscriptionCount(let channel, let count):
            connection.subscriptions[try index(channel)]?.count = count
        case .memberAdded(let name, let user, _):
            let channel = try index(name)
            guard !connection.leaving.contains(channel) else { return }
            let isNew = connection.subscriptions[channel]?.members.insert(user).inserted
            guard isNew == true else {
                throw device.broken(.presence, "was told twice that \(user) is on \(name)")
            }
            reach(.arrival)
        case .memberRemoved(let name, let user):
            let channel = try index(name)
            guard !connection.leaving.contains(channel) else { return }
            guard connection.subscriptions[channel]?.members.remove(user) != nil else {
                throw device.broken(.presence, "was told that \(user) left \(name), without it")
            }
            reach(.departure)
        case .position(let channel, let serial?, _):
            let channel = try index(channel)
            guard !connection.leaving.contains(channel) else { return }
            try advance(device, to: serial, on: channel)
        case .event(let event): try receive(event, device, connection)
        case .error(let code, let text):
            guard
                code == .clientEventRejected || code == .overCapacity || code == nil
                    || code == .reconnectImmediately || code == .pongNotReceived
            else { throw device.broken(.answers, "received error \(code?.rawValue ?? 0): \(text)") }
        case .subscriptionError(let channel, let type, let text, _):
            throw device.broken(.answers, "was refused \(channel): \(type), \(text)")
        default: break
        }
    }

    private func index(_ channel: String) throws -> Int {
        guard let index = ClusterScenario.channelIndices[channel] else {
            throw Violation(.audience, "there is no channel \(channel)")
        }
        return index
    }

    private func checkIdentity(_ id: SocketID, _ device: ClusterDevice) throws {
        for other in devices {
            guard let socketID = other.connection?.socketID, other !== device else { continue }
            // The second number is random: two connections with the same first one are due to meet.
            guard socketID.first != id.first || redis.hasLostData else {
                throw device.broken(.identity, "has \(id), and \(other.name) has \(socketID)")
            }
        }
    }

    // MARK: - Grants

    private func receive(
        grant data: String,
        on channel: Int,
        _ device: ClusterDevice,
        _ connection: ClusterConnection
    ) throws {
        guard !connection.leaving.contains(channel) else { return }
        let properties = ClusterScenario.channels[channel]
        guard var subscription = connection.subscriptions[channel] else {
            throw device.broken(
                .answers,
                "was granted \(properties.name), which it has not asked for"
            )
        }
        if properties.isPresence {
            let users = ClusterScenario.users.filter { data.contains(#""\#($0)":"#) }
            subscription.members = Set(users)
            guard subscription.members.contains(device.user) else {
                throw device.broken(.presence, "is no member of \(properties.name): \(data)")
            }
        }
        let isAgain = subscription.isGranted
        subscription.isGranted = true
        if !isAgain {
            subscription.grantedAt = now
            reach(.grant)
        }
        connection.subscriptions[channel] = subscription
        guard device.tracks else {
            guard !isAgain else {
                throw device.broken(.answers, "was granted \(properties.name) twice")
            }
            device.books[channel] = ClusterBook(beganAt: step)
            return
        }
        guard let start = SubscriptionStart(acknowledgement: data) else {
            throw device.broken(.answers, "tracks \(properties.name), and has no position: \(data)")
        }
        try begin(start, on: channel, device, isAgain: isAgain)
    }

    private func begin(
        _ start: SubscriptionStart,
        on channel: Int,
        _ device: ClusterDevice,
        isAgain: Bool
    ) throws {
        let name = ClusterScenario.channels[channel].name
        switch start.continuity {
        case .began:
            guard device.books[channel]?.position == nil else {
                throw device.broken(.answers, "began on \(name), and has sent a position")
            }
            device.books[channel] = ClusterBook(beganAt: step, position: start.position)
            reach(.tracked)
        case .recovered(let count):
            guard let position = device.books[channel]?.position else {
                throw device.broken(.answers, "was recovered on \(name), and had no position")
            }
            // Behind a failover that has lost nothing the next stream follows the one that has ended.
            let isNext = start.position.serial == 0 && start.position.stream != position.stream
            guard isAgain || start.position == position || waitsForReplica && isNext else {
                throw device.broken(
                    .recovery,
                    "goes on behind \(start.position) on \(name), and was at \(position)"
                )
            }
            device.books[channel]?.position = start.position
            reach(isAgain ? .restart : count == 0 ? .recoveredNothing : .recovered)
        case .gap(let gap):
            reach(.gap(gap.reason.rawValue))
            guard !isLossless || gap.reason != .unknownStream && gap.reason != .ahead else {
                throw device.broken(
                    .durability,
                    "was told that \(name) is another stream, and no server was lost"
                )
            }
            device.books[channel] = ClusterBook(beganAt: step, position: start.position)
        }
    }

    // MARK: - Events

    private func receive(
        _ event: ReceivedEvent,
        _ device: ClusterDevice,
        _ connection: ClusterConnection
    ) throws {
        let name = event.channel ?? ""
        let channel = try index(name)
        guard !connection.leaving.contains(channel) else { return }
        guard device.isSubscribed(to: channel) else {
            throw device.broken(.audience, "received \(event.name) on \(name)")
        }
        guard let id = event.data.flatMap({ Self.eventID(in: $0) }), events.indices.contains(id),
            events[id].channel == channel
        else { throw device.broken(.content, "received \(event.data ?? "nothing") on \(name)") }
        guard let rank = events[id].rank else {
            throw device.broken(.durability, "received event \(id), which Redis has not executed")
        }
        guard events[id].status != .refused else {
            throw device.broken(.answers, "received event \(id), which was refused")
        }
        guard var book = device.books[channel] else { return }
        guard book.received.insert(id).inserted else {
            throw device.broken(device.tracks ? .repeats : .once, "received event \(id) twice")
        }
        guard rank > book.lastRank else {
            throw device.broken(.order, "received event \(id) on \(name) behind a later one")
        }
        book.lastRank = rank
        device.books[channel] = book
        reach(.event)
        guard device.tracks else { return }
        guard let serial = event.serial else {
            throw device.broken(.serials, "received event \(id) on \(name) without a number")
        }
        try advance(device, to: serial, on: channel)
    }

    private func advance(_ device: ClusterDevice, to serial: UInt64, on channel: Int) throws {
        let name = ClusterScenario.channels[channel].name
        guard device.tracks, let position = device.books[channel]?.position else {
            throw device.broken(.answers, "received the number \(serial) on \(name)")
        }
        guard serial > position.serial else {
            throw device.broken(.repeats, "got number \(serial) on \(name) behind \(position)")
        }
        guard serial == position.serial + 1 else {
            throw device.broken(.recovery, "got number \(serial) on \(name) behind \(position)")
        }
        device.books[channel]?.position = ChannelPosition(
            stream: position.stream,
            serial: serial
        )
    }

    /// The number in `@17@…`.
    static func eventID(in text: some StringProtocol) -> Int? {
        guard let start = text.utf8.firstIndex(of: UInt8(ascii: "@")) else { return nil }
        return Int(text[text.utf8.index(after: start)...].prefix { $0 != "@" })
    }
}
