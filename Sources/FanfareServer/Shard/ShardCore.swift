import Broker
import Net
import PusherProtocol
import WebSocket

/// One loop's part of the broker: the connections that it accepted, the channels whose home it is, and the links to
/// the other shards.
///
/// Confined to its loop's thread; everything in it is synchronous.
final class ShardCore: TimerTarget {
    let reactor: Reactor
    let settings: ServerSettings
    /// Who is told what happens on the channels whose home is this shard, if anybody is.
    let observer: (any ChannelObserver)?
    // Unchecked is the exclusive access to the tables that every connection or event needs: they call nothing that could
    // come back to the core while they change.

    /// The apps that are served.
    @exclusivity(unchecked) private(set) var registry: AppRegistry
    @exclusivity(unchecked) var links: ShardLinks
    @exclusivity(unchecked) var channels: ChannelTable
    @exclusivity(unchecked) private var connections: ConnectionTable

    /// The connections that have to go since the apps were replaced.
    private var orphanedConnections: [Connection] = []
    /// What the cache channels whose home is this shard hold.
    let cachedEvents: CachedEvents
    private(set) lazy var countPace = CountPace(of: self)
    var users = Users()
    var probation = AuthorizationDeadlines()
    /// The connections of whose message only a part has arrived.
    let incompleteMessages: IncompleteMessages
    /// Where connections come from; only those to which a limit by address applies.
    @exclusivity(unchecked) private var addresses: [SocketID: ClientAddress] = [:]
    /// What the clients of each app hold in queues; of those that have held something.
    @exclusivity(unchecked) var queueAccounts: [AppID: MemoryBudget] = [:]
    /// The requests of which some events are not in order yet, by number.
    var pendingTriggers: [UInt64: PendingTrigger] = [:]
    var lastTriggerNumber: UInt64 = 0
    /// The backlogs in which events wait.
    var backlogs: [ObjectIdentifier: ChannelBacklog] = [:]
    /// Whether a timer runs for triggers that have waited for too long.
    var awaitsExpiry = false
    private let deflaters: SharedDeflaters
    private var scatterGather = ScatterGather()
    private var memoryTrim = MemoryTrim()
    var listings = ChannelListings()
    var leaves: LeaveQueue
    /// How far the broker is on its way to its end.
    var stage = Stage.serving

    /// Makes the core of the shard that speaks over `links`.
    init(
        reactor: Reactor,
        settings: ServerSettings,
        registry: AppRegistry,
        links: ShardLinks,
        observer: (any ChannelObserver)? = nil,
        random: RandomPool = RandomPool()
    ) {
        self.reactor = reactor
        self.settings = settings
        self.observer = observer
        self.registry = registry
        self.links = links
        deflaters = SharedDeflaters(options: settings.deflate ?? DeflateOptions())
        cachedEvents = CachedEvents(reactor: reactor)
        incompleteMessages = IncompleteMessages(reactor: reactor, settings: settings)
        channels = ChannelTable(shard: links.shard)
        leaves = LeaveQueue(settings.leaving)
        connections = ConnectionTable(
            shard: links.shard,
            shardCount: links.count,
            random: random
        )
        reactor.queueBudget.byteCountMax = settings.heldBytesMax
        reactor.inbound.byteCountMax = settings.inboundBytesMax
        reactor.batchLengthMax = min(
            reactor.batchLengthMax,
            settings.streamLimits.queuedBytesMax / 4
        )
    }

    // MARK: - The turn

    /// One turn: what has arrived, what the other shards sent, and at its end every write at once.
    ///
    /// - Parameter limit: The longest wait for something to arrive; `nil` for no limit.
    func turn(waitingAtMost limit: Duration? = nil) {
        reactor.poll(atMost: hasWork ? .zero : limit)
        readLines()
        reactor.relieveTargets()
        advanceListings()
        advanceLeaves()
        // Before this shard's own fan-out, so that the others begin theirs at the same time.
        links.dispatch(assists: reactor.wasIdle)
        flush()
    }

    /// Sends what is written to streams and groups, and what this shard has to say to the others.
    private func flush() {
        reactor.flush()
        reactor.relieveTargets()
        dispatchLines()
    }

    /// Whether there is work that is done in portions, one a turn.
    var hasWork: Bool { listings.areReady || !leaves.isEmpty }

    /// The most sends that are made for a shard whose thread sleeps.
    private static var assistedSendsMax: Int { 16 }

    /// Handles what another shard sent, on that shard's thread while this one's sleeps.
    ///
    /// - Returns: Whether this shard's thread has to go on.
    func assist() -> Bool {
        reactor.beginAssisted()
        readLines()
        reactor.relieveTargets()
        dispatchLines()
        guard reactor.groupSendCount <= Self.assistedSendsMax else { return true }
        flush()
        return hasWork || reactor.needsThread
    }

    // MARK: - Connections

    /// The number of clients connected to this shard.
    var connectionCount: Int { connections.count }

    /// A socket ID for the connection to be admitted next.
    func makeSocketID() -> SocketID { connections.makeSocketID() }

    /// Makes a new connection known under its socket ID.
    func admit(_ connection: Connection, from address: ClientAddress?) {
        connections.insert(connection, heardAt: reactor.seconds)
        if let address { addresses[connection.socketID] = address }
    }

    /// Forgets a connection that has closed.
    func dismiss(_ connection: Connection) {
        connections.remove(connection.socketID)
        let address =
            addresses.isEmpty ? nil : addresses.removeValue(forKey: connection.socketID)
        settings.admissionControl.leave(address)
        if connection.hasPlace {
            connection.app.quota.giveBack()
        } else {
            endProbation(of: connection)
        }
    }

    // What is counted for the metrics; each costs an addition where it happens.

    /// Messages that clients have sent.
    @exclusivity(unchecked) var receivedCount = 0
    /// Subscriptions and unsubscriptions that clients have asked for.
    @exclusivity(unchecked) private(set) var membershipChangeCount = 0
    /// Events that have got their place in the order of a channel whose home is here.
    @exclusivity(unchecked) var publishedCount = 0
    /// Frames for a subscriber here, events and notices alike.
    @exclusivity(unchecked) private var deliveredCount = 0

    /// What the shard has, and has counted.
    var reading: ShardReading {
        ShardReading(
            connections: connectionCount,
            channels: channels.occupiedCount,
            queuedBytes: reactor.queueBudget.byteCount,
            inboundBytes: reactor.inbound.byteCount,
            received: receivedCount,
            published: publishedCount,
            delivered: deliveredCount
        )
    }

    /// Counts that a limit was met.
    func met(_ limit: Limit) { settings.hits.note(limit) }

    /// Counts that a connection was closed because no descriptor was left for it.
    func ranOutOfDescriptors() {
        settings.hits.note(
            .connections,
            consequence:
                "no descriptor is left, the connection is closed at once; raise the hard limit "
                + "of \(DescriptorLimit.current) (ulimit -Hn, LimitNOFILE= of systemd), or set a number"
        )
    }

    /// The connection with this socket ID, if it is one of this shard and still open.
    func connection(_ id: SocketID) -> Connection? { connections[id] }

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
        membershipChangeCount &+= 1
        let address = ChannelAddress(app: connection.app.id, name: channel)
        let caller = Caller(shard: links.shard, socketID: connection.socketID, request: request)
        let home = address.home(among: links.count)
        if home == links.shard {
            admit(caller, to: address, as: member)
        } else if let member {
            links.send(.subscribeAsMember(address, caller, member), to: home)
        } else {
            links.send(.subscribe(address, caller), to: home)
        }
    }

    /// Takes the connection out of the channel, here and at its home.
    func leave(_ channel: ChannelName, of connection: Connection) {
        membershipChangeCount &+= 1
        let address = ChannelAddress(app: connection.app.id, name: channel)
        leave(address, connection.stream, connection.socketID)
    }

    /// The same, of a connection that may be gone.
    func leave(_ address: ChannelAddress, _ stream: Stream, _ connection: SocketID) {
        let home = address.home(among: links.count)
        if let channel = channels[address] {
            channel.leave(stream)
            if home == links.shard {
                dismiss(connection, of: links.shard, from: channel, at: address)
            }
            closeIfVacant(channel, at: address)
        }
        if home != links.shard {
            links.send(.unsubscribe(address, shard: links.shard, connection), to: home)
        }
    }

    /// Tells a connection that it counts as a subscriber, and seats it among this shard's own.
    func seat(_ caller: Caller, in channel: Channel, _ grant: Grant) {
        // A connection that has closed meanwhile has told the home so already.
        guard let connection = connections[caller.socketID],
            connection.granted(channel.name, grant, request: caller.request)
        else { return }
        channel.join(connection.stream, windowBits: connection.sharedWindowBits)
    }

    /// Forgets a channel that somebody has left, if it was the last.
    func closeIfVacant(_ channel: Channel, at address: ChannelAddress) {
        guard channel.isVacant else { return }
        flushBacklog(of: channel, at: address)
        channels.close(address)
    }

    // MARK: - Events

    /// The limit that keeps events from being taken in: of what homes are sent, or of what this shard holds.
    var publishLimit: Limit? {
        if links.areBehind(limit: settings.lineLengthMax) { return .relayedEvents }
        return reactor.inbound.isExhausted ? .inboundBytes : nil
    }

    /// Sends a frame to this shard's own subscribers of a channel, except one.
    func deliver(
        _ frame: EventFrame,
        on channel: Channel,
        at address: ChannelAddress,
        except: SocketID?
    ) {
        let except = except.flatMap { connections[$0]?.stream }
        deliveredCount &+= channel.send(frame, except: except, compressing: deflaters)
        if channel.isCongested { noteCongestion(of: channel, at: address) }
    }

    // MARK: - ScatterGather

    /// Asks the homes of channels, and calls `finish` with what they counted.
    ///
    /// - Parameters:
    ///   - questions: What to ask, by shard; none finishes at once.
    ///   - finish: Gets all the answers together, once, on this loop.
    func inquire(
        _ questions: [(shard: Int, ShardQuery)],
        finish: @escaping ([ChannelCount]) -> Void
    ) {
        guard !questions.isEmpty else { return finish([]) }
        let query = scatterGather.begin(awaiting: questions.count, finish: finish)
        for (asked, question) in questions {
            send(.question(question, query: query, asker: links.shard), to: asked)
        }
    }

    /// The number of shards, among which the homes of channels are spread.
    var shardCount: Int { links.count }

    /// The number of scatterGather that are not answered.
    var inquiryCount: Int { scatterGather.count }

    // MARK: - ShardLinks

    /// Takes in what the other shards have sent since the last turn.
    func readLines() {
        for message in links.read() { receive(message) }
    }

    /// Hands over what this shard has to say to the others.
    func dispatchLines() { links.dispatch() }

    func send(_ message: ShardMessage, to shard: Int) {
        if shard == links.shard { receive(message) } else { links.send(message, to: shard) }
    }

    private func receive(_ message: ShardMessage) {
        switch message {
        case .subscribe(let address, let caller):
            admit(caller, to: address, as: nil)
        case .subscribeAsMember(let address, let caller, let member):
            admit(caller, to: address, as: member)
        case .granted(let address, let caller, let grant):
            let channel = channels.open(address)
            seat(caller, in: channel, grant)
            closeIfVacant(channel, at: address)
        case .refused(let address, let caller, let membersMax):
            connections[caller.socketID]?
                .refused(address.name, request: caller.request, membersMax: membersMax)
        case .unsubscribe(let address, let shard, let connection):
            guard let channel = channels[address] else { return }
            dismiss(connection, of: shard, from: channel, at: address)
            closeIfVacant(channel, at: address)
        case .publish(let address, let publication, let receipt):
            accept(publication, on: address, receipt)
        case .published(let number, let outcome): settle(number, outcome)
        case .congestion(let address, let shard, let isCongested):
            setCongestion(at: address, of: shard, isCongested)
        case .clientEvent(let address, let event, let sender):
            accept(event, of: sender, on: address)
        case .deliver(let address, let frame, let except):
            if let channel = channels[address] {
                deliver(frame, on: channel, at: address, except: except)
            }
        case .confirm(let address): confirm(address)
        case .question(let question, let query, let asker):
            send(.answer(answer(question), query: query), to: asker)
        case .answer(let counts, let query):
            if let finish = scatterGather.receive(counts, of: query) { finish() }
        case .listing(let message): receive(message)
        case .users(let message): receive(message)
        }
    }

    // MARK: - Liveness

    /// Looks for silent clients now and then, until the reactor ends: no connection needs a timer of its own.
    func watchLiveness() {
        reactor.schedule(after: .seconds(settings.liveness.interval), self)
    }

    /// What the timer of the next user to go offline is called with.
    static let departuresTag = 1

    func timerFired(tag: Int) {
        if tag == ShardCore.departuresTag { return reportDepartures() }
        if tag == ShardCore.backlogTag { return expireTriggers() }
        let now = reactor.seconds
        for page in connections.pageNumbers {
            let verdicts = connections.judge(page: page, at: now, settings.liveness)
            for (connection, verdict) in verdicts { connection.answer(verdict) }
        }
        memoryTrim.look(at: reactor)
        watchLiveness()
    }

    // MARK: - Apps

    /// Serves these apps from here on, unless it serves later ones already.
    ///
    /// Connections go on with the app as it is now; those that may not stay wait for ``closeOrphanedConnections(upTo:)``.
    func adopt(_ registry: AppRegistry) {
        guard registry.generation > self.registry.generation else { return }
        self.registry = registry
        adoptQueueLimits()
        orphanedConnections = []
        // Most connections are of one app, or come in runs of one.
        var last: (old: App, new: App?)?
        for connection in connections.all where !connection.isClosing {
            if last?.old !== connection.app {
                last = (connection.app, registry.apps[connection.app.id])
            }
            if let app = last?.new, app !== connection.app { connection.adopt(app) }
            if last?.new?.isEnabled != true { orphanedConnections.append(connection) }
        }
    }

    /// Closes up to `count` of the connections whose app is not served any more; returns whether there are others.
    func closeOrphanedConnections(upTo count: Int) -> Bool {
        for connection in orphanedConnections.suffix(count) {
            let isKnown = registry.apps[connection.app.id] != nil
            let code = isKnown ? PusherCode.appDisabled : .appDoesNotExist
            connection.close(code, message: code.message)
        }
        orphanedConnections.removeLast(min(count, orphanedConnections.count))
        return !orphanedConnections.isEmpty
    }

    /// The number of connections that have to go since the apps were replaced.
    var orphanedConnectionCount: Int { orphanedConnections.count }

    // MARK: - Stopping

    /// How far a broker is on its way to its end.
    enum Stage {
        /// Everybody may come.
        case serving
        /// Everybody may come, but load balancers are told to send nobody.
        case leaving
        /// Newcomers are told to try another broker, and those who are here are sent away.
        case draining
    }

    /// Closes everything at once; the core is of no further use.
    func shutDown() {
        while !leaves.isEmpty { advanceLeaves() }
        reactor.shutDown()
    }

    /// Closes up to `count` connections with the code that asks clients to reconnect at once; returns how many.
    func drain(upTo count: Int) -> Int {
        let leaving = connections.open(upTo: count)
        for connection in leaving {
            connection.close(.reconnectImmediately, message: "The broker is stopping")
        }
        return leaving.count
    }
}
