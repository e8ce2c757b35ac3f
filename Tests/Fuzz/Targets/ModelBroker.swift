import Broker
import PusherProtocol

/// A model of a broker without sockets and clocks: up to sixteen clients, on three shards with homes of channels and
/// users.
///
/// It performs the effects of sessions as the shards do.
struct ModelBroker {
    let app: App
    var clients: [Int: ModelClient] = [:]
    var homes: [ModelHome]
    var links = ModelLinks()
    /// The time in milliseconds.
    var now: Int64 = 1_000
    private var lastSocket: UInt64 = 0
    /// Expected state: the connections that count towards the app's quota.
    private(set) var quotaHolders: Set<SocketID> = []
    /// Expected state: the number of connections signed in as each user.
    var signedIn: [UserID: Int] = [:]
    /// Expected state: the time until which a user without a connection is online.
    var absentUntil: [UserID: Int64] = [:]

    init(options: UInt8) {
        var limits = AppLimits {
            $0.subscriptionsMax = 4
            $0.membersMax = 3
            $0.userInfoLengthMax = 20
            $0.watchlistMax = 2
            $0.cachedEventsMax = 1
            $0.clientEventRate = Rate(perSecond: 2)
            $0.subscriptionRate = options & 1 == 0 ? nil : Rate(perSecond: 3)
            $0.faultsPerMinuteMax = options & 2 == 0 ? 5 : 1_000
        }
        limits.texts.dataLengthMax = 40
        let features = AppFeatures {
            $0.clientEvents = options & 4 == 0
            $0.users = options & 8 == 0
            $0.watchlist = options & 16 == 0
            $0.authorizedConnections = options & 32 != 0
            $0.authorizationTimeout = 5
            $0.cacheLifetime = 1
            $0.presenceGrace = 0
        }
        let app = App(
            id: AppID("1"),
            credentials: Credentials(key: "key", secret: AppSecret("secret")),
            features: features,
            limits: limits,
            quota: ConnectionQuota(limit: 5)
        )
        self.app = app
        homes = (0..<ModelLinks.shardCount).map { ModelHome(shard: $0, app: app) }
    }

    var nanoseconds: Int64 { now * 1_000_000 }

    // MARK: - Connections

    /// Opens a connection at a free index, if the app's quota allows it.
    mutating func open(_ place: Int) {
        guard clients[place] == nil else { return }
        lastSocket += 1
        let session = Session(socketID: SocketID(lastSocket, 7), app: app)
        if !session.awaitsAuthorization {
            guard app.quota.take() else { return }
            quotaHolders.insert(session.socketID)
        }
        clients[place] = ModelClient(session: session, shard: place % ModelLinks.shardCount)
    }

    /// Closes a connection, and unregisters it at the homes.
    mutating func close(_ place: Int) throws(Finding) {
        guard var client = clients.removeValue(forKey: place) else { return }
        let (socket, shard) = (client.socketID, client.shard)
        let registrations = client.session.end()
        var channels: Set<ChannelName> = []
        registrations.subscriptions.forEachChannel { channels.insert($0) }
        try expectEqual(channels, client.requested, "the subscriptions at the end")
        try expectEqual(
            Set(registrations.watchedUsers),
            client.watched,
            "the users watched at the end"
        )
        for channel in channels {
            links.send(.leave(channel, socket), from: shard, to: home(channel))
        }
        if let user = registrations.user {
            links.send(.signOut(user), from: shard, to: home(user))
        }
        for user in registrations.watchedUsers {
            links.send(.unwatch(user, by: socket), from: shard, to: home(user))
        }
        if quotaHolders.remove(socket) != nil { app.quota.giveBack() }
    }

    /// Handles a message of a client.
    mutating func receive(_ message: ClientMessage, _ place: Int) throws(Finding) {
        let now = nanoseconds
        guard let effects = clients[place]?.session.receive(message, now: now) else { return }
        try perform(effects, place)
    }

    /// Handles a raw text of a client.
    mutating func receive(_ text: [UInt8], _ place: Int) throws(Finding) {
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

    /// Performs the effects of a session, and updates the expected state.
    mutating func perform(_ effects: Session.Effects, _ place: Int) throws(Finding) {
        for effect in effects {
            guard let client = clients[place] else { return }
            let (socket, shard) = (client.socketID, client.shard)
            switch effect {
            case .send(let message): try check(message)
            case .limitMet, .slowDown, .claimSession: break
            case .join(let channel, let member, let request),
                .joinFrom(_, let channel, let member, let request):
                let isNew = clients[place]?.requested.insert(channel).inserted ?? false
                try expect(isNew, "\(channel) is requested twice")
                try expectEqual(member != nil, channel.kind.isPresence, "a member of \(channel)")
                links.send(
                    .join(channel, socket, as: member, request: request),
                    from: shard,
                    to: home(channel)
                )
            case .leave(let channel):
                let wasRequested = clients[place]?.requested.remove(channel) != nil
                try expect(wasRequested, "\(channel) is left, but was not requested")
                clients[place]?.removeSubscription(from: channel)
                links.send(.leave(channel, socket), from: shard, to: home(channel))
            case .publish(_, let channel):
                try expect(
                    client.subscriptions[channel] != nil,
                    "an event on \(channel) without a subscription"
                )
                links.send(.clientEvent(channel, from: socket), from: shard, to: home(channel))
            case .signIn(let user):
                links.send(.signIn(user), from: shard, to: home(user))
            case .watch(let users):
                clients[place]?.watched.formUnion(users)
                let count = clients[place]?.watched.count ?? 0
                try expect(count <= app.limits.watchlistMax, "\(count) users are watched")
                for user in users {
                    links.send(.watch(user, by: socket), from: shard, to: home(user))
                }
            case .unwatch(let users):
                clients[place]?.unwatch(users)
                for user in users {
                    links.send(.unwatch(user, by: socket), from: shard, to: home(user))
                }
            case .claimQuota:
                guard app.quota.take() else {
                    try close(place)
                    return
                }
                quotaHolders.insert(socket)
            case .close:
                try close(place)
            }
        }
    }

    /// Checks that a client can parse a message.
    private func check(_ message: ServerMessage) throws(Finding) {
        let bytes = message.bytes
        let received = Result { () throws(MessageError) in try ServerMessage.parse(bytes.span) }
        try expectEqual(received, .success(message), "the parsed message")
    }

    // MARK: - Homes and indices

    func home(_ channel: ChannelName) -> Int {
        ChannelAddress(app: app.id, name: channel).home(among: ModelLinks.shardCount)
    }

    func home(_ user: UserID) -> Int { address(user).home(among: ModelLinks.shardCount) }

    func address(_ user: UserID) -> UserAddress { UserAddress(app: app.id, id: user) }

    /// The index of a connection; `nil` if it is closed.
    func place(of socket: SocketID) -> Int? {
        clients.first { $0.value.socketID == socket }?.key
    }

    /// Checks the invariants that hold at any time.
    func check() throws(Finding) {
        for client in clients.values {
            try client.checkSubscriptions(max: app.limits.subscriptionsMax)
        }
        for home in homes { try home.check(at: now) }
        try expect(quotaHolders.count <= 5, "\(quotaHolders.count) connections in an app of five")
        try expectEqual(
            app.quota.isUnused,
            quotaHolders.isEmpty,
            "whether the app's quota is unused"
        )
    }
}
