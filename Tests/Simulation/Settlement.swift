/// Checks of the state once everything is delivered.
extension World {
    /// Delivers everything, and checks the clients' state against the model.
    ///
    /// - Parameter knowsUsers: Whether so much time has passed without sign-ins and departures that all watchers must
    ///   be up to date.
    /// - Throws: The first ``Violation``.
    func settle(knowsUsers: Bool = false) throws {
        for client in clients { client?.isStalled = false }
        try runUntilIdle()
        if let client = allClients.first(where: { $0.overdueClose != nil }) {
            // A stalled client may have delayed a close, which the broker abandons after some seconds.
            try advance(7)
            try runUntilIdle()
            if let reason = client.overdueClose {
                throw client.broken(.closing, "is still connected, but \(reason)")
            }
        }
        if hasDepartingMembers {
            // A turn may read the clock before the last departure is due.
            try advance(4)
            try runUntilIdle()
        }
        reach(.settlement)
        try checkAnswers()
        for model in models.values.sorted(by: { $0.name < $1.name }) {
            try model.checkOrder()
            try checkDeliveries(in: model)
            try model.checkRecovery()
            try model.checkOpenings()
            try checkStanding(model)
        }
        try checkLimits()
        try broker.retainedSizes().check(messagesMax: Scenario.messagesMax)
        try checkCounts()
        if knowsUsers { try checkUsers() }
        startNextRound()
    }

    /// Whether clients know members of an app whose members may stay for a while, and have no connection any more.
    private var hasDepartingMembers: Bool {
        models.values.contains { model in
            let standing = model.standing
            let users = Set(standing.compactMap { $0.member?.user })
            return rules[model.app].presenceGrace > 0
                && standing.contains { !users.isSuperset(of: $0.members.keys) }
        }
    }

    private func runUntilIdle() throws {
        var rounds = 0
        while true {
            // A turn may leave work for the next one, even if nothing was transferred.
            let isMoving = try runRound()
            let isStillMoving = try runRound()
            if !isMoving, !isStillMoving {
                if exchanges.isEmpty || rounds > 1_200 { break }
                // The broker checks a congested answer again after a millisecond.
                wait(5)
            }
            rounds += 1
            guard rounds < 2_000 else {
                throw Violation(.answers, "the broker does not become idle")
            }
        }
        if let exchange = exchanges.first {
            throw Violation(.answers, "\(exchange.text.prefix(80)) … is not answered")
        }
    }

    // MARK: - Connections

    private func checkAnswers() throws {
        for client in allClients where client.isAlive {
            for expectation in client.expectations {
                switch expectation {
                case .optionalNotSubscribed, .optionalFault: break
                case .clientEvent(let publication): client.accept(publication)
                default: throw client.broken(.answers, "is still waiting for \(expectation)")
                }
            }
            client.expectations = []
            for subscription in client.subscriptions.values.joined()
            where subscription.grantedAt == nil {
                throw client.broken(
                    .answers,
                    "has no answer to its subscription to \(subscription.model.name)"
                )
            }
            if let subscription = client.subscriptions.values.joined().first(where: \.awaitsOpening)
            {
                throw client.broken(
                    .cache,
                    "received neither cached event nor miss of \(subscription.model.name)"
                )
            }
        }
        for client in allClients where client.socketID == nil && client.closingError == nil {
            guard client.isGone || client.hasLeft else {
                throw client.broken(.answers, "received no connection_established")
            }
        }
    }

    private func checkLimits() throws {
        for client in allClients { try client.checkRate() }
        for app in rules.indices {
            let count = allClients.count { $0.app == app && $0.isAlive && $0.mayCountTowardsQuota }
            guard count <= rules[app].connectionsMax else {
                throw Violation(.limits, "app \(Scenario.appIDs[app]) has \(count) connections")
            }
        }
    }

    // MARK: - Channels

    /// Checks that every event published after a grant has arrived, if the subscription is still active.
    private func checkDeliveries(in model: ChannelModel) throws {
        for publication in model.open {
            if publication.wasSeen, publication.status == .refused {
                throw Violation(
                    .answers,
                    "event \(publication.id) was refused, and was seen all the same"
                )
            }
            guard publication.status == .accepted else { continue }
            for subscription in model.standing {
                guard let grantedAt = subscription.grantedAt, grantedAt < publication.step,
                    !publication.excludes(subscription.client),
                    !subscription.seen.contains(.event(publication.id))
                else { continue }
                throw subscription.client.broken(
                    .once,
                    "has missed event \(publication.id) on \(model.name)"
                )
            }
        }
    }

    /// Checks that all subscribers know the same members, and the right count.
    private func checkStanding(_ model: ChannelModel) throws {
        let standing = model.standing
        let users = Set(standing.compactMap { $0.member?.user })
        for subscription in standing {
            if model.channel.isPresence, Set(subscription.members.keys) != users {
                throw subscription.client.broken(
                    .presence,
                    "has users \(subscription.members.keys.sorted()) on \(model.name), where there are \(users.sorted())"
                )
            }
            if rules[model.app].countsAreTold, !model.channel.isPresence, model.channel.user == nil,
                subscription.lastCount != standing.count
            {
                let received = subscription.lastCount.map(String.init) ?? "nothing"
                throw subscription.client.broken(
                    .counts,
                    "received \(received) of \(model.name), which has \(standing.count) subscribers"
                )
            }
        }
    }

    /// Checks the answers to backends' queries.
    private func checkCounts() throws {
        for app in rules.indices where rules[app].isEnabled {
            var expected: [String: Int] = [:]
            for model in models.values where model.app == app && model.channel.user == nil {
                let count = model.standing.count
                if count > 0 { expected[model.channel.name] = count }
            }
            let text = expected.sorted { $0.key < $1.key }
                .map { #""\#($0)":{"subscription_count":\#($1)}"# }.joined(separator: ",")
            try expect(
                #"{"channels":{\#(text)}}"#,
                of: app,
                "/channels",
                parameters: [("info", "subscription_count")],
                .counts
            )
            for model in models.values where model.app == app && model.channel.isPresence {
                let users = Set(model.standing.compactMap { $0.member?.user }).sorted()
                let list = users.map { #"{"id":"\#(Scenario.users[$0])"}"# }.joined(separator: ",")
                try expect(
                    #"{"users":[\#(list)]}"#,
                    of: app,
                    "/channels/\(model.channel.path)/users",
                    .presence
                )
            }
        }
    }

    private func expect(
        _ expected: String,
        of app: Int,
        _ path: String,
        parameters: [(String, String)] = [],
        _ invariant: Invariant
    ) throws {
        let shard = step % schedule.shardCount
        let pending = try get(app, path, shard, .any, parameters: parameters)
        try runUntilIdle()
        // Users are listed in no particular order.
        guard
            pending.exchange.body.split(whereSeparator: "[]{},".contains).sorted()
                == expected.split(whereSeparator: "[]{},".contains).sorted()
        else {
            throw Violation(
                invariant,
                "\(path) is \(pending.exchange.body), but there is \(expected)"
            )
        }
    }

    // MARK: - Users

    private func checkUsers() throws {
        for client in allClients where client.isAlive {
            for user in client.watched {
                let isThere = allClients.contains {
                    $0.isAlive && $0.app == client.app && $0.user == user
                }
                guard client.presences[user] == isThere else {
                    throw client.broken(
                        .users,
                        "knows \(Scenario.users[user]) as \(client.presences[user] == true ? "online" : "offline")"
                    )
                }
            }
        }
    }

    // MARK: - Next round

    private func startNextRound() {
        for model in models.values { model.findLastEvents() }
        for model in models.values {
            for publication in model.open { publication.settledAt = publication.settledAt ?? now }
            model.open = []
            model.pairs = []
            model.subscriptions.removeAll { !$0.stands }
            for subscription in model.subscriptions {
                subscription.tokens = []
                subscription.opening = nil
            }
        }
        for client in allClients where client.isGone { client.releaseReferences() }
        allClients.removeAll(where: \.isGone)
        for client in allClients {
            client.pendingBytes = 0
            client.wasStalled = false
            client.events = []
        }
        openTerminations = []
        hasClosedApps = false
        lastAccepted = [:]
    }
}
