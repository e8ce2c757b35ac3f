import Broker
import PusherProtocol

/// A broker of values: sixteen places for clients, on three shards that are homes to the channels and users.
///
/// It carries out what sessions ask for as the shards do, without a socket or a clock.
struct SmallBroker {
    let app: App
    var clients: [Int: SmallClient] = [:]
    var homes: [SmallHome]
    var lines = SmallLines()
    /// Milliseconds.
    var now: Int64 = 1_000
    private var lastSocket: UInt64 = 0
    /// Places of the app's quota that are taken, by the ledger.
    private(set) var tenants: Set<SocketID> = []
    /// The connections that are signed in as each user, by the ledger.
    var signedIn: [UserID: Int] = [:]
    /// Until when a user without a connection counts as online, by the ledger.
    var absentUntil: [UserID: Int64] = [:]

    init(options: UInt8) {
        var limits = AppLimits(
            subscriptionsMax: 4,
            membersMax: 3,
            userInfoLengthMax: 20,
            watchlistMax: 2,
            cachedEventsMax: 1,
            clientEventRate: Rate(perSecond: 2),
            subscriptionRate: options & 1 == 0 ? nil : Rate(perSecond: 3),
            faultsPerMinuteMax: options & 2 == 0 ? 5 : 1_000
        )
        limits.texts.dataLengthMax = 40
        let features = AppFeatures(
            clientEvents: options & 4 == 0,
            users: options & 8 == 0,
            watchlist: options & 16 == 0,
            authorizationTimeout: options & 32 == 0 ? nil : 5,
            cacheLifetime: 1
        )
        let app = App(
            id: AppID("1"),
            credentials: Credentials(key: "key", secret: AppSecret("secret")),
            features: features,
            limits: limits,
            quota: ConnectionQuota(limit: 5)
        )
        self.app = app
        homes = (0..<SmallLines.shardCount).map { SmallHome(shard: $0, app: app) }
    }

    var nanoseconds: Int64 { now * 1_000_000 }

    // MARK: - Connections

    /// Opens a connection in a place that has none, if the app has room.
    mutating func open(_ place: Int) {
        guard clients[place] == nil else { return }
        lastSocket += 1
        let session = Session(socketID: SocketID(lastSocket, 7), app: app)
        if !session.awaitsAuthorization {
            guard app.quota.take() else { return }
            tenants.insert(session.socketID)
        }
        clients[place] = SmallClient(session: session, shard: place % SmallLines.shardCount)
    }

    /// Closes a connection, whose homes are told.
    mutating func close(_ place: Int) throws(Finding) {
        guard var client = clients.removeValue(forKey: place) else { return }
        let (socket, shard) = (client.socketID, client.shard)
        let registrations = client.session.end()
        var channels: Set<ChannelName> = []
        registrations.subscriptions.forEachChannel { channels.insert($0) }
        try expectEqual(channels, client.asked, "what is given up at the end")
        try expectEqual(Set(registrations.watchedUsers), client.watched, "who is watched no more")
        for channel in channels {
            lines.say(.leave(channel, socket), from: shard, to: home(channel))
        }
        if let user = registrations.user {
            lines.say(.signOut(user), from: shard, to: home(user))
        }
        for user in registrations.watchedUsers {
            lines.say(.unwatch(user, by: socket), from: shard, to: home(user))
        }
        if tenants.remove(socket) != nil { app.quota.giveBack() }
    }

    /// Lets a client say something.
    mutating func receive(_ message: ClientMessage, _ place: Int) throws(Finding) {
        let now = nanoseconds
        guard let effects = clients[place]?.session.receive(message, now: now) else { return }
        try perform(effects, place)
    }

    /// Lets a client say any text.
    mutating func say(_ text: [UInt8], _ place: Int) throws(Finding) {
        let now = nanoseconds
        let message = Result { () throws(MessageError) in
            try ClientMessage.parse(text.span, limits: app.limits.texts)
        }
        let effects =
            switch message {
            case .success(let message): clients[place]?.session.receive(message, now: now)
            case .failure(let fault): clients[place]?.session.receive(fault, now: now)
            }
        try perform(effects ?? [], place)
    }

    // MARK: - Effects

    /// Carries out what a session asks for, and notes it.
    mutating func perform(_ effects: Session.Effects, _ place: Int) throws(Finding) {
        for effect in effects {
            guard let client = clients[place] else { return }
            let (socket, shard) = (client.socketID, client.shard)
            switch effect {
            case .send(let message): try check(message)
            case .limitMet: break
            case .join(let channel, let member, let request):
                let isNew = clients[place]?.asked.insert(channel).inserted ?? false
                try expect(isNew, "\(channel) is asked for twice")
                try expectEqual(member != nil, channel.kind.isPresence, "a member of \(channel)")
                lines.say(
                    .join(channel, socket, as: member, request: request),
                    from: shard,
                    to: home(channel)
                )
            case .leave(let channel):
                let wasAsked = clients[place]?.asked.remove(channel) != nil
                try expect(wasAsked, "\(channel) is left, but was not asked for")
                clients[place]?.unseat(from: channel)
                lines.say(.leave(channel, socket), from: shard, to: home(channel))
            case .publish(_, let channel):
                try expect(client.seats[channel] != nil, "an event on \(channel) from outside")
                lines.say(.clientEvent(channel, from: socket), from: shard, to: home(channel))
            case .signIn(let user):
                lines.say(.signIn(user), from: shard, to: home(user))
            case .watch(let users):
                clients[place]?.watched.formUnion(users)
                let count = clients[place]?.watched.count ?? 0
                try expect(count <= app.limits.watchlistMax, "\(count) users are watched")
                for user in users {
                    lines.say(.watch(user, by: socket), from: shard, to: home(user))
                }
            case .unwatch(let users):
                clients[place]?.forget(users)
                for user in users {
                    lines.say(.unwatch(user, by: socket), from: shard, to: home(user))
                }
            case .claimQuota:
                guard app.quota.take() else {
                    try close(place)
                    return
                }
                tenants.insert(socket)
            case .close:
                try close(place)
            }
        }
    }

    /// Checks that the client reads what it is told.
    private func check(_ message: ServerMessage) throws(Finding) {
        let bytes = message.bytes
        let heard = Result { () throws(MessageError) in try ServerMessage.parse(bytes.span) }
        try expectEqual(heard, .success(message), "what the client reads")
    }

    // MARK: - Places

    func home(_ channel: ChannelName) -> Int {
        ChannelAddress(app: app.id, name: channel).home(among: SmallLines.shardCount)
    }

    func home(_ user: UserID) -> Int { address(user).home(among: SmallLines.shardCount) }

    func address(_ user: UserID) -> UserAddress { UserAddress(app: app.id, id: user) }

    /// The place of a connection; nil when it has closed.
    func place(of socket: SocketID) -> Int? {
        clients.first { $0.value.socketID == socket }?.key
    }

    /// Checks everything that holds at each moment.
    func check() throws(Finding) {
        for client in clients.values {
            try client.checkSubscriptions(max: app.limits.subscriptionsMax)
        }
        for home in homes { try home.check(at: now) }
        try expect(tenants.count <= 5, "\(tenants.count) connections in an app of five")
        try expectEqual(app.quota.isUnused, tenants.isEmpty, "the app's places are free")
    }
}
