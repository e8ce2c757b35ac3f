/// What must be so when everything has arrived everywhere.
extension World {
    /// Lets everything arrive, and checks what clients were told against what there is.
    ///
    /// - Parameter knowsUsers: Whether nobody has come or gone for so long that all who watch have been told.
    /// - Throws: The first ``Violation``.
    func settle(knowsUsers: Bool = false) throws {
        for client in clients { client?.isStalled = false }
        try comeToRest()
        if let client = everyone.first(where: { $0.overdueEnd != nil }) {
            // A stalled client may have kept a close waiting, which is given up after some seconds.
            try pass(7)
            try comeToRest()
            if let reason = client.overdueEnd {
                throw client.broken(.closing, "is still there, but \(reason)")
            }
        }
        meet(.settlement)
        try checkAnswers()
        for room in rooms.values.sorted(by: { $0.name < $1.name }) {
            try room.checkOrder()
            try checkDeliveries(in: room)
            try checkStanding(room)
        }
        try checkLimits()
        try checkCounts()
        if knowsUsers { try checkUsers() }
        forgetWhatIsSettled()
    }

    private func comeToRest() throws {
        var rounds = 0
        while true {
            // A turn may have work left for the next one although nothing has moved.
            let isMoving = try bustle()
            let isStillMoving = try bustle()
            if !isMoving, !isStillMoving {
                if exchanges.isEmpty || rounds > 1_200 { break }
                // An answer that waits for a queue is looked at after a millisecond.
                wait(5)
            }
            rounds += 1
            guard rounds < 2_000 else {
                throw Violation(.answers, "the broker does not come to rest")
            }
        }
        if let exchange = exchanges.first {
            throw Violation(.answers, "\(exchange.text.prefix(80)) … is not answered")
        }
    }

    // MARK: - Connections

    private func checkAnswers() throws {
        for client in everyone where client.isAlive {
            for debt in client.debts {
                switch debt {
                case .perhapsNotSubscribed, .perhapsFault: break
                case .fate(let publication): client.accept(publication)
                default: throw client.broken(.answers, "is still waiting for \(debt)")
                }
            }
            client.debts = []
            for tenure in client.tenures.values.joined() where tenure.grantedAt == nil {
                throw client.broken(
                    .answers,
                    "was not answered whether it may join \(tenure.room.name)"
                )
            }
            if let tenure = client.tenures.values.joined().first(where: \.awaitsOpening) {
                throw client.broken(.cache, "was not told what \(tenure.room.name) holds")
            }
        }
        for client in everyone where client.socketID == nil && client.farewell == nil {
            guard client.isGone || client.hasLeft else {
                throw client.broken(.answers, "was not greeted")
            }
        }
    }

    private func checkLimits() throws {
        for client in everyone { try client.checkRate() }
        for app in rules.indices {
            let count = everyone.count { $0.app == app && $0.isAlive && $0.mayHavePlace }
            guard count <= rules[app].connectionsMax else {
                throw Violation(.limits, "app \(Cast.appIDs[app]) has \(count) connections")
            }
        }
    }

    // MARK: - Channels

    /// Every event that was published after a grant must have come, as long as the subscription stands.
    private func checkDeliveries(in room: Room) throws {
        for publication in room.open {
            if publication.wasSeen, publication.fate == .refused {
                throw Violation(
                    .answers,
                    "event \(publication.id) was refused, and was seen all the same"
                )
            }
            guard publication.fate == .accepted else { continue }
            for tenure in room.standing {
                guard let grantedAt = tenure.grantedAt, grantedAt < publication.step,
                    !publication.isNot(for: tenure.conversation),
                    !tenure.seen.contains(.event(publication.id))
                else { continue }
                throw tenure.conversation.broken(
                    .once,
                    "has missed event \(publication.id) on \(room.name)"
                )
            }
        }
    }

    /// Who is on the channel is what all on it were told.
    private func checkStanding(_ room: Room) throws {
        let standing = room.standing
        let users = Set(standing.compactMap { $0.member?.user })
        for tenure in standing {
            if room.channel.isPresence, Set(tenure.members.keys) != users {
                throw tenure.conversation.broken(
                    .presence,
                    "has users \(tenure.members.keys.sorted()) on \(room.name), where there are \(users.sorted())"
                )
            }
            if rules[room.app].countsAreTold, !room.channel.isPresence, room.channel.user == nil,
                tenure.lastCount != standing.count
            {
                let told = tenure.lastCount.map(String.init) ?? "nothing"
                throw tenure.conversation.broken(
                    .counts,
                    "was told \(told) of \(room.name), which has \(standing.count) subscribers"
                )
            }
        }
    }

    /// What a backend is told is what there is.
    private func checkCounts() throws {
        for app in rules.indices where rules[app].isEnabled {
            var expected: [String: Int] = [:]
            for room in rooms.values where room.app == app && room.channel.user == nil {
                let count = room.standing.count
                if count > 0 { expected[room.channel.name] = count }
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
            for room in rooms.values where room.app == app && room.channel.isPresence {
                let users = Set(room.standing.compactMap { $0.member?.user }).sorted()
                let list = users.map { #"{"id":"\#(Cast.users[$0])"}"# }.joined(separator: ",")
                try expect(
                    #"{"users":[\#(list)]}"#,
                    of: app,
                    "/channels/\(room.channel.path)/users",
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
        let asked = try get(app, path, shard, .any, parameters: parameters)
        try comeToRest()
        // Users come in an order that means nothing.
        guard
            asked.exchange.body.split(whereSeparator: "[]{},".contains).sorted()
                == expected.split(whereSeparator: "[]{},".contains).sorted()
        else {
            throw Violation(
                invariant,
                "\(path) is \(asked.exchange.body), but there is \(expected)"
            )
        }
    }

    // MARK: - Users

    private func checkUsers() throws {
        for client in everyone where client.isAlive {
            for user in client.watched {
                let isThere = everyone.contains {
                    $0.isAlive && $0.app == client.app && $0.user == user
                }
                guard client.presences[user] == isThere else {
                    throw client.broken(
                        .users,
                        "takes \(Cast.users[user]) to be \(client.presences[user] == true ? "there" : "gone")"
                    )
                }
            }
        }
    }

    // MARK: - The next round

    private func forgetWhatIsSettled() {
        for room in rooms.values { room.findLastEvents() }
        for room in rooms.values {
            for publication in room.open { publication.settledAt = publication.settledAt ?? now }
            room.open = []
            room.pairs = []
            room.tenures.removeAll { !$0.stands }
            for tenure in room.tenures {
                tenure.tokens = []
                tenure.opening = nil
            }
        }
        for client in everyone where client.isGone { client.forget() }
        everyone.removeAll(where: \.isGone)
        for client in everyone {
            client.owedBytes = 0
            client.wasStalled = false
            client.events = []
        }
        openTerminations = []
        hasClosedApps = false
        lastAccepted = [:]
    }
}
