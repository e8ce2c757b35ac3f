import FanfareServer
import Net

/// What backends ask, and what the reference model makes of it.
extension World {
    /// Begins a request.
    func ask(_ request: Request, shard: Int) throws -> Asked {
        let shard = shard % schedule.shardCount
        switch request {
        case .trigger(let app, let channels, let length, let leavingOut, let isSigned):
            return try trigger(app, channels, length, leavingOut, isSigned, shard)
        case .batch(let app, let channels, let length):
            return try triggerBatch(app, channels, length, shard)
        case .terminate(let app, let user): return try terminate(app, user, shard)
        case .list(let app): return try get(app, "/channels", shard, .any)
        case .describe(let app, let channel):
            return try get(app, "/channels/\(Cast.channels[channel].path)", shard, .any)
        case .members(let app, let channel):
            let cast = Cast.channels[channel]
            let outcome = cast.isPresence ? Exchange.Outcome.any : .refused(status: 400)
            return try get(app, "/channels/\(cast.path)/users", shard, outcome)
        }
    }

    /// A request that has begun.
    struct Asked {
        let world: World
        let exchange: Exchange

        /// Pushes and reads so many bytes.
        func pursue(_ limit: Int) throws { _ = try world.pursue(exchange, limit) }
    }

    /// Asks for something that exists.
    func get(
        _ app: Int,
        _ path: String,
        _ shard: Int,
        _ outcome: Exchange.Outcome,
        parameters: [(String, String)] = []
    ) throws -> Asked {
        let path = "/apps/\(Cast.appIDs[app])\(path)"
        let text = signedRequest(
            "GET",
            path,
            parameters: parameters,
            app: app,
            unixTime: unixTime
        )
        return try begin(text, app, shard, outcome)
    }

    private func begin(
        _ text: String,
        _ app: Int,
        _ shard: Int,
        _ outcome: Exchange.Outcome
    ) throws -> Asked {
        let (pipe, end) = try Pipe.make(room: 200_000)
        try broker.accept(FileDescriptor(end, from: "socketpair"), on: shard)
        // What is wrong with the signature is found first.
        var outcome = outcome
        if !rules[app].isEnabled {
            if case .refused(status: 401) = outcome {} else { outcome = .refused(status: 403) }
        }
        let exchange = Exchange(pipe, text, shard: shard, outcome: outcome)
        exchanges.append(exchange)
        return Asked(world: self, exchange: exchange)
    }

    private func post(
        _ app: Int,
        _ path: String,
        _ body: String,
        _ shard: Int,
        _ outcome: Exchange.Outcome = .accepted,
        secret: String? = nil
    ) throws -> Asked {
        let path = "/apps/\(Cast.appIDs[app])\(path)"
        let text = signedRequest(
            "POST",
            path,
            body: body,
            app: app,
            unixTime: unixTime,
            secret: secret
        )
        return try begin(text, app, shard, outcome)
    }

    // MARK: - Events

    private func trigger(
        _ app: Int,
        _ channels: [Int],
        _ length: Int,
        _ leavingOut: Int?,
        _ isSigned: Bool,
        _ shard: Int
    ) throws -> Asked {
        let channels = channels.reduce(into: [Int]()) { if !$0.contains($1) { $0.append($1) } }
        let publication = publish(app: app, channels: channels, name: "event", length: length)
        publication.leavesOut = leavingOut.flatMap { clients[$0]?.socketID }
        let names = channels.map { "\"\(Cast.channels[$0].name)\"" }.joined(separator: ",")
        let except = publication.leavesOut.map { #","socket_id":"\#($0)""# } ?? ""
        let asked = try post(
            app,
            "/events",
            #"{"name":"event","channels":[\#(names)],"data":"\#(publication.data)"\#(except)}"#,
            shard,
            isSigned ? .accepted : .refused(status: 401),
            secret: isSigned ? nil : Cast.foreignSecret
        )
        adopt([publication], asked.exchange)
        return asked
    }

    private func triggerBatch(
        _ app: Int,
        _ channels: [Int],
        _ length: Int,
        _ shard: Int
    ) throws -> Asked {
        let events = channels.map {
            publish(app: app, channels: [$0], name: "event", length: length)
        }
        let items = events.map { event in
            #"{"name":"event","channel":"\#(Cast.channels[event.channels[0]].name)","data":"\#(event.data)"}"#
        }
        let body = #"{"batch":[\#(items.joined(separator: ","))]}"#
        let asked = try post(app, "/batch_events", body, shard)
        for (index, event) in events.enumerated() {
            // The events of a batch are in the batch's order.
            let earlier = events[..<index].last { $0.channels == event.channels }
            if let earlier { room(app, event.channels[0]).pairs.append((earlier.id, event.id)) }
        }
        adopt(events, asked.exchange)
        return asked
    }

    /// Notes what a request publishes.
    private func adopt(_ publications: [Publication], _ exchange: Exchange) {
        exchange.publications = publications
        for publication in publications {
            for channel in publication.channels {
                let room = room(publication.app, channel)
                // Until it is known to be refused, or not the last, it may be what the channel holds.
                if room.channel.isCache { room.lastEvents.append(publication) }
            }
        }
    }

    /// Notes what an answer makes certain.
    func noteAccepted(_ exchange: Exchange) {
        for publication in exchange.publications {
            for channel in publication.channels {
                if publication.fate == .accepted {
                    lastAccepted[key(publication.app, channel)] = publication
                } else {
                    room(publication.app, channel).lastEvents.removeAll { $0 === publication }
                }
            }
        }
    }

    // MARK: - Users

    private func terminate(_ app: Int, _ user: Int, _ shard: Int) throws -> Asked {
        let path = "/users/\(Cast.users[user])/terminate_connections"
        let asked = try post(app, path, "{}", shard)
        openTerminations.insert(UserPlace(app: app, user: user))
        for client in everyone where client.app == app && client.user == user {
            client.mayBeTerminated = true
            let isSigningIn = client.debts.contains { debt in
                if case .signedIn = debt { true } else { false }
            }
            if !isSigningIn, client.isAlive { asked.exchange.terminated.append(client) }
        }
        return asked
    }
}

extension CastChannel {
    /// The name in a path.
    var path: String { name.replacing("#", with: "%23") }
}
