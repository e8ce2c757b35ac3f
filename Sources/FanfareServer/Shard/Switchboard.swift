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
    private var home: ChannelHome
    /// This shard's own subscribers, by channel; a channel without any has no entry.
    private var audiences: [ChannelAddress: Audience] = [:]
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
        home = ChannelHome(shardCount: lines.count)
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
        if let member {
            send(.subscribeAsMember(address, caller, member), to: home)
        } else {
            send(.subscribe(address, caller), to: home)
        }
    }

    /// Tells the channel's home that the connection is gone; it has left this shard's audience already.
    func leave(_ channel: ChannelName, of connection: Connection) {
        let address = ChannelAddress(app: connection.app.id, name: channel)
        if let entry = audiences.index(forKey: address) {
            audiences.values[entry].leave(connection.stream)
            if audiences.values[entry].count == 0 { audiences.remove(at: entry) }
        }
        send(
            .unsubscribe(address, shard: lines.shard, connection.socketID),
            to: address.home(among: lines.count)
        )
    }

    /// Tells a connection that it counts as a subscriber, and seats it in this shard's audience.
    private func admit(_ caller: Caller, to address: ChannelAddress, among members: [Member]) {
        // A connection that has closed meanwhile has told the home so already.
        guard let connection = connections[caller.socketID] else { return }
        let entry = audiences.index(forKey: address)
        // The name that the audience goes by, so that its members share one copy.
        let channel = entry.map { audiences[$0].key.name } ?? address.name
        guard connection.granted(channel, among: members, request: caller.request) else { return }
        audiences[address, default: Audience()]
            .join(connection.stream, windowBits: connection.sharedWindowBits)
    }

    // MARK: - Presence

    /// At the home: lets a connection in as a member, if there is room, and tells the others of one who is new.
    private func admit(_ caller: Caller, to address: ChannelAddress, as member: Member) {
        let membersMax = settings.apps[address.app]?.limits.membersMax ?? 0
        let arrival = home.subscribe(
            address,
            from: caller.shard,
            caller.socketID,
            as: member,
            membersMax: membersMax
        )
        guard arrival != .refused else {
            return send(.refused(address, caller, membersMax: membersMax), to: caller.shard)
        }
        // Ahead of the grant on every line: who joins is seated behind this notice, and finds themself in the list
        // that comes with the grant.
        if arrival == .ofMember { announce(.memberAdded(member, to: address.name), on: address) }
        let members = home.members(of: address)
        send(.granted(address, caller, members: members), to: caller.shard)
    }

    /// At the home: strikes a connection off, and tells the others when a member is gone with it.
    private func dismiss(_ connection: SocketID, of shard: Int, from address: ChannelAddress) {
        guard address.name.kind.isPresence else {
            home.unsubscribe(address, from: shard)
            return
        }
        guard case .ofMember(let user) = home.unsubscribe(address, from: shard, connection) else {
            return
        }
        announce(.memberRemoved(channel: address.name.text, userID: user.text), on: address)
    }

    /// At the home: puts a notice of the broker's own in order among the channel's events.
    private func announce(_ notice: ServerMessage, on address: ChannelAddress) {
        var encoded: EventFrame?
        home.forEachShard(subscribedTo: address) { shard in
            let frame = encoded ?? EventFrame(notice)
            encoded = frame
            send(.deliver(address, frame, except: nil), to: shard)
        }
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
        var encoded: EventFrame?
        home.forEachShard(subscribedTo: address) { shard in
            let frame = encoded ?? EventFrame(publication, channel: address.name)
            encoded = frame
            if shard == lines.shard {
                deliver(frame, on: address, except: publication.except)
            } else {
                lines.say(.deliver(address, frame, except: publication.except), to: shard)
            }
        }
    }

    private func deliver(_ frame: EventFrame, on address: ChannelAddress, except: SocketID?) {
        let except = except.flatMap { connections[$0]?.stream }
        audiences[address]?.send(frame, except: except, compressing: deflaters)
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
            home.subscribe(address, from: caller.shard)
            send(.granted(address, caller, members: []), to: caller.shard)
        case .subscribeAsMember(let address, let caller, let member):
            admit(caller, to: address, as: member)
        case .granted(let address, let caller, let members):
            admit(caller, to: address, among: members)
        case .refused(let address, let caller, let membersMax):
            connections[caller.socketID]?
                .refused(address.name, request: caller.request, membersMax: membersMax)
        case .unsubscribe(let address, let shard, let connection):
            dismiss(connection, of: shard, from: address)
        case .publish(let address, let publication):
            relay(publication, on: address)
        case .deliver(let address, let frame, let except):
            deliver(frame, on: address, except: except)
        case .question(let question, let inquiry, let asker):
            send(.answer(home.answer(question), inquiry: inquiry), to: asker)
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
