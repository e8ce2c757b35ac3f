import Broker
import PusherProtocol

/// The operations of clients and backends, each encoded in few bytes.
extension ModelBroker {
    /// Subscribes with a right, wrong or missing signature; to a presence channel as one of four users.
    mutating func subscribe(_ place: Int, _ channel: UInt8, as choice: UInt8) throws(Finding) {
        guard let client = clients[place] else { return }
        let name = BrokerFuzzing.channel(channel)
        let data = choice & 4 == 0 ? #"{"user_id":"u\#(choice & 3)","user_info":\#(choice)}"# : nil
        var auth: String? = ChannelSignature.auth(
            socketID: client.socketID,
            channel: name,
            channelData: data,
            key: "key",
            secret: app.secret
        )
        if choice & 0x18 == 0x18 { auth = nil }
        if choice & 0x38 == 0x28 { auth = auth.map { String($0.dropLast()) + "!" } }
        try receive(.subscribe(channel: name, auth: auth, channelData: data), place)
        let isIn = clients[place]?.requested.contains { $0.text == name } ?? false
        let lacksSignature = auth?.last ?? "!" == "!"
        let wasIn = client.requested.contains { $0.text == name }
        let needsSignature = ChannelKind(ofName: name).requiresSignature
        try expect(
            !isIn || wasIn || !lacksSignature || !needsSignature,
            "\(name) accepts subscriptions without a signature"
        )
    }

    /// Signs in as one of four users, with a watchlist of up to three.
    mutating func signIn(_ place: Int, as choice: UInt8, watching: UInt8) throws(Finding) {
        guard let client = clients[place] else { return }
        let watchlist = (0..<4).filter { watching >> $0 & 1 == 1 }.map { "\"u\($0)\"" }
        let list = watchlist.joined(separator: ",")
        let data = #"{"id":"u\#(choice & 3)","watchlist":[\#(list)]}"#
        let signature = UserSignature.auth(
            socketID: client.socketID,
            userData: data,
            key: "key",
            secret: choice & 0x40 == 0 ? app.secret : AppSecret("another")
        )
        let before = client.session.user
        try receive(.signin(auth: signature, userData: data), place)
        guard let after = clients[place]?.session.user else { return }
        if let before { try expectEqual(after, before, "the user of a connection") }
        try expect(before != nil || choice & 0x40 == 0, "a wrong signature can sign in")
    }

    /// Sends a client event on one of the channels.
    mutating func sendClientEvent(_ place: Int, _ channel: UInt8) throws(Finding) {
        let event = ClientEvent(
            nameToken: Array(#""client-e""#.utf8),
            channel: BrokerFuzzing.channel(channel),
            dataToken: Array(#""1""#.utf8)
        )
        try receive(.clientEvent(event), place)
    }

    /// Triggers a backend event, optionally excluding a connection.
    mutating func trigger(_ choice: UInt8, except place: Int, value: UInt8) throws(Finding) {
        let except = choice & 0x80 == 0 ? nil : clients[place]?.socketID
        let socket = except.map { #","socket_id":"\#($0)""# } ?? ""
        let name = BrokerFuzzing.channel(choice & 0x7F)
        let body = Array(#"{"name":"e","data":"\#(value)","channel":"\#(name)"\#(socket)}"#.utf8)
        let event = Result { () throws(APIError) in
            try TriggerRequest.parse(body.span, limits: app.limits.texts)
        }
        guard case .success(let publication) = event else { return }
        for channel in publication.channels {
            links.send(.publish(publication, on: channel), from: 0, to: home(channel))
        }
    }

    /// Advances the clock, and removes departed users.
    mutating func advance(by milliseconds: Int64) throws(Finding) {
        now += milliseconds
        for shard in homes.indices {
            let reports = homes[shard].users.removeDeparted(at: now)
            for user in reports.flatMap(\.offline) {
                let until = absentUntil[user]
                try expect(until.map { $0 <= now } ?? false, "\(user) is offline too early")
            }
            send(reports, from: shard)
        }
        for (user, until) in absentUntil where until <= now {
            absentUntil[user] = nil
            let isOnline = homes[home(user)].users.isOnline(address(user))
            try expect(!isOnline, "\(user) is still online")
        }
    }

    /// Removes expired cached events.
    mutating func expire() {
        for shard in homes.indices { homes[shard].expire(at: now) }
    }

    /// Delivers one message of a link.
    mutating func deliver(from choice: UInt8) throws(Finding) {
        guard let (message, sender, receiver) = links.next(beginningWith: Int(choice) % 9) else {
            return
        }
        switch message {
        case .join(let channel, let socket, let member, let request):
            let home = receiver
            let effects = homes[home].join(socket, of: sender, channel, as: member, at: now)
            for effect in effects {
                switch effect {
                case .event(let event): fanOut(event, on: channel, from: home)
                case .granted(let grant):
                    let answer = ModelLinks.Message.granted(
                        channel,
                        socket,
                        grant,
                        request: request
                    )
                    links.send(answer, from: home, to: sender)
                case .refused:
                    let answer = ModelLinks.Message.refused(channel, socket, request: request)
                    links.send(answer, from: home, to: sender)
                }
            }
        case .leave(let channel, let socket):
            for case .event(let event) in homes[receiver].leave(
                socket,
                of: sender,
                channel,
                at: now
            ) {
                fanOut(event, on: channel, from: receiver)
            }
        case .clientEvent(let channel, let socket):
            let event = homes[receiver].next(.message, on: channel, except: socket)
            fanOut(event, on: channel, from: receiver)
        case .publish(let publication, let channel):
            if channel.kind.isCache { homes[receiver].cache(publication, on: channel, at: now) }
            let event = homes[receiver].next(.message, on: channel, except: publication.except)
            fanOut(event, on: channel, from: receiver)
        case .signIn, .signOut, .watch, .unwatch:
            handleUserMessage(message, from: sender, at: receiver)
        case .granted, .refused, .deliver, .presence: try handleShardMessage(message, at: receiver)
        }
    }

    /// Sends an event to the shards with subscribers, behind all earlier messages.
    private mutating func fanOut(
        _ event: ModelHome.Event,
        on channel: ChannelName,
        from shard: Int
    ) {
        let elsewhere = homes[shard].channels[channel]?.subscribers.otherShards ?? []
        for receiver in [shard] + elsewhere.sorted() {
            links.send(.deliver(channel, event), from: shard, to: receiver)
        }
    }

    /// Handles a message to a user's home.
    private mutating func handleUserMessage(
        _ message: ModelLinks.Message,
        from sender: Int,
        at shard: Int
    ) {
        func watcher(_ socket: SocketID) -> UserHome.Watcher {
            UserHome.Watcher(shard: sender, socketID: socket)
        }
        switch message {
        case .signIn(let user):
            signedIn[user, default: 0] += 1
            absentUntil[user] = nil
            send(homes[shard].users.signIn(address(user)), from: shard)
        case .signOut(let user):
            homes[shard].users.signOut(address(user), at: now)
            signedIn[user, default: 0] -= 1
            if signedIn[user] == 0 { absentUntil[user] = now + UserHome.absenceMax }
        case .watch(let user, let socket):
            let report = homes[shard].users.watch([user], of: app.id, by: watcher(socket))
            send([report], from: shard)
        case .unwatch(let user, let socket):
            homes[shard].users.unwatch([user], of: app.id, by: watcher(socket))
        default: break
        }
    }

    private mutating func send(_ reports: [UserHome.Report], from shard: Int) {
        for report in reports.sorted(by: { $0.shard < $1.shard }) {
            let users = report.online.map { ($0, true) } + report.offline.map { ($0, false) }
            for (user, isOnline) in users {
                for watcher in report.watchers.sorted(by: { $0.first < $1.first }) {
                    links.send(
                        .presence(user, isOnline: isOnline, to: watcher),
                        from: shard,
                        to: report.shard
                    )
                }
            }
        }
    }

    /// Handles a message to a connection's shard.
    private mutating func handleShardMessage(_ message: ModelLinks.Message, at shard: Int)
        throws(Finding)
    {
        switch message {
        case .granted(let channel, let socket, let grant, let request):
            guard let place = place(of: socket) else { return }
            try clients[place]?.receive(grant, on: channel, request: request)
        case .refused(let channel, let socket, let request):
            guard let place = place(of: socket), var client = clients[place] else { return }
            let refusal = SubscriptionRefusal.full(channel, membersMax: app.limits.membersMax)
            let effects = client.session.refused(
                channel,
                request: request,
                refusal,
                now: nanoseconds
            )
            if !effects.isEmpty { client.requested.remove(channel) }
            clients[place] = client
            try perform(effects, place)
        case .deliver(let channel, let event):
            for place in clients.keys.sorted() where clients[place]?.shard == shard {
                try clients[place]?.receive(event, on: channel)
            }
        case .presence(let user, let isOnline, let socket):
            guard let place = place(of: socket) else { return }
            try clients[place]?.updatePresence(user, isOnline: isOnline)
        default: break
        }
    }
}
