import Broker
import Net
import PusherProtocol
import WebSocket

/// One loop's part of the broker: the connections that it accepted, the channels whose home it is, and the lines to
/// the other shards.
///
/// Confined to its loop's thread; everything in it is synchronous.
final class Switchboard: TimerTarget {
    let reactor: Reactor
    let settings: ServerSettings
    private var lines: Lines
    private var channels: ChannelTable
    private let deflaters: SharedDeflaters
    private var connections: ConnectionTable
    private var inquiries = Inquiries()
    /// Set while the broker stops: newcomers are told to try another.
    private(set) var isDraining = false

    /// Makes the switchboard of the shard that speaks over `lines`.
    init(reactor: Reactor, settings: ServerSettings, lines: Lines) {
        self.reactor = reactor
        self.settings = settings
        self.lines = lines
        deflaters = SharedDeflaters(options: settings.deflate ?? DeflateOptions())
        channels = ChannelTable(shard: lines.shard)
        connections = ConnectionTable(shard: lines.shard, shardCount: lines.count)
    }

    // MARK: - Connections

    /// The number of clients connected to this shard.
    var connectionCount: Int { connections.count }

    /// A socket ID for the connection to be admitted next.
    func makeSocketID() -> SocketID { connections.makeSocketID() }

    /// Makes a new connection known under its socket ID.
    func admit(_ connection: Connection) {
        connections.insert(connection, heardAt: reactor.seconds)
    }

    /// Forgets a connection that has closed.
    func dismiss(_ connection: Connection) {
        connections.remove(connection.socketID)
        settings.quota.giveBack()
        settings.quotas[connection.app.id]?.giveBack()
    }

    /// Notes that something arrived from a client.
    func heard(_ connection: Connection) {
        connections.heard(connection.socketID, at: reactor.seconds)
    }

    // MARK: - Subscriptions

    /// Asks the channel's home to count the connection in; `Connection.granted` or `Connection.refused` follows.
    func join(
        _ channel: ChannelName,
        of connection: Connection,
        as member: Member?,
        request: UInt32
    ) {
        let address = ChannelAddress(app: connection.app.id, name: channel)
        let caller = Caller(shard: lines.shard, socketID: connection.socketID, request: request)
        let home = address.home(among: lines.count)
        if home == lines.shard {
            admit(caller, to: address, as: member)
        } else if let member {
            lines.say(.subscribeAsMember(address, caller, member), to: home)
        } else {
            lines.say(.subscribe(address, caller), to: home)
        }
    }

    /// Takes the connection out of the channel, here and at its home.
    func leave(_ channel: ChannelName, of connection: Connection) {
        let address = ChannelAddress(app: connection.app.id, name: channel)
        let home = address.home(among: lines.count)
        if let channel = channels[address] {
            channel.leave(connection.stream)
            if home == lines.shard {
                dismiss(connection.socketID, of: lines.shard, from: channel, at: address)
            }
            closeIfVacant(channel, at: address)
        }
        if home != lines.shard {
            lines.say(.unsubscribe(address, shard: lines.shard, connection.socketID), to: home)
        }
    }

    /// Tells a connection that it counts as a subscriber, and seats it among this shard's own.
    private func seat(
        _ caller: Caller,
        in channel: Channel,
        among members: [Member]
    ) {
        // A connection that has closed meanwhile has told the home so already.
        guard let connection = connections[caller.socketID],
            connection.granted(channel.name, among: members, request: caller.request)
        else { return }
        channel.join(connection.stream, windowBits: connection.sharedWindowBits)
    }

    private func closeIfVacant(_ channel: Channel, at address: ChannelAddress) {
        if channel.isVacant { channels.close(address) }
    }

    // MARK: - Subscriptions at the home

    /// Counts a connection in, on a presence channel as a member, if there is room.
    private func admit(_ caller: Caller, to address: ChannelAddress, as member: Member?) {
        let channel = channels.open(address)
        if let member {
            guard enter(caller, in: channel, at: address, as: member) else { return }
        } else {
            channel.attendance.join(from: caller.shard)
        }
        let members = channel.attendance.members
        if caller.shard == lines.shard {
            seat(caller, in: channel, among: members)
        } else {
            lines.say(.granted(address, caller, members: members), to: caller.shard)
        }
    }

    /// Lets a connection in as a member, if there is room, and tells the others of one who is new.
    private func enter(
        _ caller: Caller,
        in channel: Channel,
        at address: ChannelAddress,
        as member: Member
    ) -> Bool {
        let membersMax = settings.apps[address.app]?.limits.membersMax ?? 0
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
            // Ahead of the grant on every line: who joins is seated behind this notice, and finds themself in the list
            // that comes with the grant.
            announce(.memberAdded(member, to: channel.name), on: channel, at: address)
        }
        return arrival != .refused
    }

    /// Strikes a connection off, and tells the others when a member is gone with it.
    private func dismiss(
        _ connection: SocketID,
        of shard: Int,
        from channel: Channel,
        at address: ChannelAddress
    ) {
        guard channel.name.kind.isPresence else { return channel.attendance.leave(from: shard) }
        if case .ofMember(let user) = channel.attendance.leave(connection, from: shard) {
            let notice = ServerMessage.memberRemoved(channel: channel.name.text, userID: user.text)
            announce(notice, on: channel, at: address)
        }
    }

    /// Puts a notice of the broker's own in order among the channel's events.
    private func announce(
        _ notice: ServerMessage,
        on channel: Channel,
        at address: ChannelAddress
    ) {
        guard !channel.attendance.isVacant else { return }
        relay(EventFrame(notice), on: channel, at: address, except: nil)
    }

    // MARK: - Events

    /// Hands an event to the channel's home, which gives it its place in the channel's order.
    func publish(_ publication: Publication, on address: ChannelAddress) {
        let home = address.home(among: lines.count)
        // Without the detour through a message, which would be copied for nothing.
        guard home != lines.shard else { return relay(publication, on: address) }
        lines.say(.publish(address, publication), to: home)
    }

    /// Whether every home that an event may have to go to still keeps up with what it is sent.
    var canPublish: Bool { !lines.areBehind(limit: settings.lineLengthMax) }

    /// At the home: encodes an event once and sends it where the channel has subscribers.
    private func relay(_ publication: Publication, on address: ChannelAddress) {
        guard let channel = channels[address] else { return }
        let frame = EventFrame(publication, channel: channel.name)
        relay(frame, on: channel, at: address, except: publication.except)
    }

    /// At the home: sends a frame where the channel has subscribers.
    private func relay(
        _ frame: EventFrame,
        on channel: Channel,
        at address: ChannelAddress,
        except: SocketID?
    ) {
        for shard in channel.attendance.shardsElsewhere {
            lines.say(.deliver(address, frame, except: except), to: shard)
        }
        deliver(frame, on: channel, except: except)
    }

    private func deliver(_ frame: EventFrame, on channel: Channel, except: SocketID?) {
        let except = except.flatMap { connections[$0]?.stream }
        channel.send(frame, except: except, compressing: deflaters)
    }

    // MARK: - Inquiries

    /// Asks the homes of channels, and calls `finish` with what they counted.
    ///
    /// - Parameters:
    ///   - questions: What to ask, by shard; none finishes at once.
    ///   - finish: Gets all the answers together, once, on this loop.
    func inquire(
        _ questions: [(shard: Int, Question)],
        finish: @escaping ([ChannelCount]) -> Void
    ) {
        guard !questions.isEmpty else { return finish([]) }
        let inquiry = inquiries.begin(awaiting: questions.count, finish: finish)
        for (asked, question) in questions {
            send(.question(question, inquiry: inquiry, asker: lines.shard), to: asked)
        }
    }

    /// The number of shards, among which the homes of channels are spread.
    var shardCount: Int { lines.count }

    // MARK: - Lines

    /// Takes in what the other shards have sent since the last turn.
    func readLines() {
        for message in lines.read() { receive(message) }
    }

    /// Hands over what this shard has to say to the others.
    func dispatchLines() { lines.dispatch() }

    private func send(_ message: LineMessage, to shard: Int) {
        if shard == lines.shard { receive(message) } else { lines.say(message, to: shard) }
    }

    private func receive(_ message: LineMessage) {
        switch message {
        case .subscribe(let address, let caller):
            admit(caller, to: address, as: nil)
        case .subscribeAsMember(let address, let caller, let member):
            admit(caller, to: address, as: member)
        case .granted(let address, let caller, let members):
            let channel = channels.open(address)
            seat(caller, in: channel, among: members)
            closeIfVacant(channel, at: address)
        case .refused(let address, let caller, let membersMax):
            connections[caller.socketID]?
                .refused(address.name, request: caller.request, membersMax: membersMax)
        case .unsubscribe(let address, let shard, let connection):
            guard let channel = channels[address] else { return }
            dismiss(connection, of: shard, from: channel, at: address)
            closeIfVacant(channel, at: address)
        case .publish(let address, let publication):
            relay(publication, on: address)
        case .deliver(let address, let frame, let except):
            if let channel = channels[address] { deliver(frame, on: channel, except: except) }
        case .question(let question, let inquiry, let asker):
            send(.answer(channels.answer(question), inquiry: inquiry), to: asker)
        case .answer(let counts, let inquiry):
            if let finish = inquiries.receive(counts, of: inquiry) { finish() }
        }
    }

    // MARK: - Liveness

    /// Looks for silent clients now and then, until the reactor ends: no connection needs a timer of its own.
    func watchLiveness() {
        reactor.schedule(after: .seconds(settings.liveness.interval), self)
    }

    func timerFired(tag: Int) {
        for (connection, verdict) in connections.judge(at: reactor.seconds, settings.liveness) {
            connection.answer(verdict)
        }
        watchLiveness()
    }

    // MARK: - Stopping

    /// Closes up to `count` connections with the code that asks clients to reconnect at once.
    func drain(upTo count: Int) {
        isDraining = true
        for connection in connections.open(upTo: count) {
            connection.close(.reconnectImmediately, message: "The broker is stopping")
        }
    }
}
