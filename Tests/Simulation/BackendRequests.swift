import Shard

/// Requests of backends, and their effect on the reference model.
extension World {
    /// Starts a request.
    func begin(_ request: Request, shard: Int) throws -> PendingRequest {
        let shard = shard % schedule.shardCount
        switch request {
        case .trigger(let app, let channels, let length, let excluded, let isSigned):
            return try trigger(app, channels, length, excluded, isSigned, shard)
        case .batch(let app, let channels, let length):
            return try triggerBatch(app, channels, length, shard)
        case .terminate(let app, let user): return try terminate(app, user, shard)
        case .list(let app): return try get(app, "/channels", shard, .any)
        case .describe(let app, let channel):
            return try get(app, "/channels/\(Scenario.channels[channel].path)", shard, .any)
        case .members(let app, let channel):
            let properties = Scenario.channels[channel]
            let outcome = properties.isPresence ? Exchange.Outcome.any : .refused(status: 400)
            return try get(app, "/channels/\(properties.path)/users", shard, outcome)
        case .purge(let app, let channel): return try purge(app, channel, shard)
        }
    }

    /// A request in progress.
    struct PendingRequest {
        let world: World
        let exchange: Exchange

        /// Writes and reads up to `limit` bytes.
        func transfer(_ limit: Int) throws { _ = try world.transfer(exchange, limit) }
    }

    /// Starts a GET request.
    func get(
        _ app: Int,
        _ path: String,
        _ shard: Int,
        _ outcome: Exchange.Outcome,
        parameters: [(String, String)] = []
    ) throws -> PendingRequest {
        let path = "/apps/\(Scenario.appIDs[app])\(path)"
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
    ) throws -> PendingRequest {
        let pipe = try broker.connect(to: shard)
        // The broker checks the signature first.
        var outcome = outcome
        if !rules[app].isEnabled {
            if case .refused(status: 401) = outcome {} else { outcome = .refused(status: 403) }
        }
        let exchange = Exchange(pipe, text, shard: shard, outcome: outcome)
        exchanges.append(exchange)
        return PendingRequest(world: self, exchange: exchange)
    }

    /// Starts the purge of a channel; of one whose model cannot tell what remains it is another query.
    private func purge(_ app: Int, _ channel: Int, _ shard: Int) throws -> PendingRequest {
        let properties = Scenario.channels[channel]
        guard properties.isPurged else {
            return try get(app, "/channels/\(properties.path)/history", shard, .any)
        }
        model(app, channel).purgeCount += 1
        let path = "/apps/\(Scenario.appIDs[app])/channels/\(properties.path)/history"
        return try begin(
            signedRequest("DELETE", path, app: app, unixTime: unixTime),
            app,
            shard,
            .any
        )
    }

    private func post(
        _ app: Int,
        _ path: String,
        _ body: String,
        _ shard: Int,
        _ outcome: Exchange.Outcome = .accepted,
        secret: String? = nil
    ) throws -> PendingRequest {
        let path = "/apps/\(Scenario.appIDs[app])\(path)"
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
        _ excluded: Int?,
        _ isSigned: Bool,
        _ shard: Int
    ) throws -> PendingRequest {
        let channels = channels.reduce(into: [Int]()) { if !$0.contains($1) { $0.append($1) } }
        let publication = publish(app: app, channels: channels, name: "event", length: length)
        publication.excludedSocketID = excluded.flatMap { clients[$0]?.socketID }
        let names = channels.map { "\"\(Scenario.channels[$0].name)\"" }.joined(separator: ",")
        let except = publication.excludedSocketID.map { #","socket_id":"\#($0)""# } ?? ""
        let pending = try post(
            app,
            "/events",
            #"{"name":"event","channels":[\#(names)],"data":"\#(publication.data)"\#(except)}"#,
            shard,
            isSigned ? .accepted : .refused(status: 401),
            secret: isSigned ? nil : Scenario.foreignSecret
        )
        register([publication], pending.exchange)
        return pending
    }

    private func triggerBatch(
        _ app: Int,
        _ channels: [Int],
        _ length: Int,
        _ shard: Int
    ) throws -> PendingRequest {
        let events = channels.map {
            publish(app: app, channels: [$0], name: "event", length: length)
        }
        let items = events.map { event in
            #"{"name":"event","channel":"\#(Scenario.channels[event.channels[0]].name)","data":"\#(event.data)"}"#
        }
        let body = #"{"batch":[\#(items.joined(separator: ","))]}"#
        let pending = try post(app, "/batch_events", body, shard)
        for (index, event) in events.enumerated() {
            // The events of a batch keep its order.
            let earlier = events[..<index].last { $0.channels == event.channels }
            if let earlier { model(app, event.channels[0]).pairs.append((earlier.id, event.id)) }
        }
        register(events, pending.exchange)
        return pending
    }

    /// Registers the events of a request.
    private func register(_ publications: [Publication], _ exchange: Exchange) {
        exchange.publications = publications
        for publication in publications {
            for channel in publication.channels {
                let model = model(publication.app, channel)
                // Until it is refused, or known not to be the last, it may be the cached event.
                if model.channel.isCache { model.lastEvents.append(publication) }
            }
        }
    }

    /// Applies the outcome of a request.
    func recordOutcome(_ exchange: Exchange) {
        for publication in exchange.publications {
            for channel in publication.channels {
                if publication.status == .accepted {
                    lastAccepted[key(publication.app, channel)] = publication
                } else {
                    model(publication.app, channel).lastEvents.removeAll { $0 === publication }
                }
            }
        }
    }

    // MARK: - Users

    private func terminate(_ app: Int, _ user: Int, _ shard: Int) throws -> PendingRequest {
        let path = "/users/\(Scenario.users[user])/terminate_connections"
        let pending = try post(app, path, "{}", shard)
        openTerminations.insert(AppUser(app: app, user: user))
        for client in allClients where client.app == app && client.user == user {
            client.mayBeTerminated = true
            let isSigningIn = client.expectations.contains { expectation in
                if case .signedIn = expectation { true } else { false }
            }
            if !isSigningIn, client.isAlive { pending.exchange.terminated.append(client) }
        }
        return pending
    }
}

extension ChannelProperties {
    /// The name in a path.
    var path: String { name.replacing("#", with: "%23") }
}
