import PusherProtocol

/// What the client hears, against what it has to hear.
extension Conversation {
    /// Takes in what the client has seen.
    func see(_ sighting: SimulatedClient.Sighting) throws(Violation) {
        if closeCode != nil { throw broken(.closing, "was sent something behind a close frame") }
        switch sighting {
        case .ping(let payload): answer(payload)
        case .pong: try settle("a pong frame") { if case .pongFrame = $0 { true } else { false } }
        case .close(let code): try seeClose(code)
        case .message(let message): try hear(message)
        }
    }

    func broken(_ invariant: Invariant, _ text: String) -> Violation {
        Violation(invariant, "\(name) \(text)")
    }

    private func hear(_ message: ServerMessage) throws(Violation) {
        if let farewell { throw broken(.closing, "heard \(message) behind error \(farewell)") }
        if owesRefusal {
            guard case .error(nil, _) = message else {
                throw broken(.answers, "heard \(message) in place of a refusal's error")
            }
            owesRefusal = false
            return
        }
        try checkOpening(message)
        switch message {
        case .connectionEstablished(let id, _): try establish(id)
        case .error(let code, let text): try hear(error: code?.rawValue, text)
        case .pong: try settlePong()
        case .subscriptionSucceeded(let channel, let data): try hear(grant: data, on: channel)
        case .subscriptionError(let channel, let type, let text, _):
            try hear(refusal: type, text, on: channel)
        case .subscriptionCount(let channel, let count):
            try hear(count: count, try tenure(channel, message))
        case .memberAdded(let channel, let user, let info):
            try hear(arrival: user, info, try tenure(channel, message))
        case .memberRemoved(let channel, let user):
            try hear(departure: user, try tenure(channel, message))
        case .cacheMiss(let channel): try hear(missOf: try tenure(channel, message))
        case .signinSuccess(let data):
            var watching: [Int] = []
            try settle("sign-in as \(data)") { debt in
                guard case .signedIn(data, let users) = debt else { return false }
                watching = users
                return true
            }
            world.meet(.signIn)
            watched = Set(watching)
            presences = presences.filter { watched.contains($0.key) }
        case .watchlist(let online, let offline): try hear(online: online, offline: offline)
        case .event(let event): try hear(event, message)
        case .ping:
            throw broken(.answers, "was asked for a pong, which it was told to ask for itself")
        }
    }

    private func establish(_ id: SocketID) throws(Violation) {
        guard socketID == nil else { throw broken(.answers, "was greeted twice") }
        socketID = id.description
        establishedAt = world.now
    }

    // MARK: - Answers

    /// Finds the answer among those that have to come, past those that need not.
    private func settle(_ what: String, _ isIt: (Debt) -> Bool) throws(Violation) {
        while let debt = debts.first {
            if isIt(debt) {
                debts.removeFirst()
                return
            }
            switch debt {
            case .perhapsNotSubscribed, .perhapsFault: break
            case .fate(let publication): accept(publication)
            default: throw broken(debt.invariant, "heard \(what), but waits for \(debt)")
            }
            debts.removeFirst()
        }
        throw broken(.answers, "heard \(what), and waits for nothing")
    }

    private func settlePong() throws(Violation) {
        var fenced: Tenure?
        try settle("a pong") { debt in
            if case .pong = debt { return true }
            if case .fence(let tenure) = debt {
                fenced = tenure
                return true
            }
            return false
        }
        if let fenced { end(fenced) }
    }

    private func end(_ tenure: Tenure) {
        tenure.isOver = true
        for channel in tenures.keys { tenures[channel]?.removeAll { $0 === tenure } }
    }

    func accept(_ publication: Publication) {
        publication.fate = .accepted
        events.append(publication)
        let channel = publication.channels[0]
        if let earlier = lastEvent[channel] {
            world.room(app, channel).pairs.append((earlier, publication.id))
        }
        lastEvent[channel] = publication.id
    }

    private func hear(error code: Int?, _ text: String) throws(Violation) {
        let farewells = [4001, 4003, 4004, 4100, 4200, 4201]
        if let code, farewells.contains(code) || code == 4009 && isFarewell(text) {
            farewell = code
            return
        }
        try settle("error \(code.map(String.init) ?? "without a code"), \"\(text)\"") { debt in
            switch debt {
            case .error(code): return true
            case .perhapsFault: return code == nil
            case .perhapsNotSubscribed: return text.hasPrefix("No current subscription")
            case .fate(let publication):
                guard
                    code == 4301 || text.hasPrefix("Client event rejected")
                        || text.hasPrefix("Cannot broadcast client event")
                else { return false }
                publication.fate = .refused
                if code == 4301 { world.meet(.tooSoon) }
                return true
            default: return false
            }
        }
    }

    private func isFarewell(_ text: String) -> Bool {
        text.hasPrefix("The app has closed") || text.hasPrefix("Not authorized within")
    }

    private func hear(refusal type: String, _ text: String, on channel: String) throws(Violation) {
        // The home has no room for another member.
        if type == "LimitReached", text.contains("members"),
            let tenure = tenures[Cast.channelIndices[channel] ?? -1]?.first
        {
            guard tenure.grantedAt == nil, tenure.room.channel.isPresence else {
                throw broken(.answers, "was refused \(channel) after it was granted")
            }
            let users = Set(tenure.room.tenures.compactMap { $0.member?.user })
            guard users.count > rules.membersMax else {
                throw broken(.limits, "was refused \(channel) for \(users.count) users in all")
            }
            tenure.wasRefused = true
            world.meet(.fullChannel)
            end(tenure)
            owesRefusal = true
            return
        }
        try settle("\(type) of \(channel), \"\(text)\"") { debt in
            if case .subscriptionError(channel, type) = debt { true } else { false }
        }
        world.meet(.refusal(type))
    }

    // MARK: - Subscriptions

    /// The subscription that something of a channel can be of.
    private func tenure(
        _ channel: String,
        _ message: ServerMessage
    ) throws(Violation) -> Tenure {
        guard let tenure = tenures[Cast.channelIndices[channel] ?? -1]?.first,
            tenure.grantedAt != nil
        else { throw broken(.audience, "heard \(message), and is not subscribed") }
        return tenure
    }

    private func hear(grant data: String, on channel: String) throws(Violation) {
        guard let tenure = tenures[Cast.channelIndices[channel] ?? -1]?.first else {
            let owes = debts.contains { debt in
                if case .subscriptionError(channel, "LimitReached") = debt { true } else { false }
            }
            throw broken(
                owes ? .limits : .authorisation,
                "was granted \(channel), for which it had no right"
            )
        }
        guard tenure.grantedAt == nil else {
            throw broken(.answers, "was granted \(channel) twice")
        }
        tenure.grantedAt = world.step
        world.meet(tenure.isLeaving ? .lateGrant : .grant)
        tenure.awaitsOpening = tenure.room.channel.isCache
        guard tenure.room.channel.isPresence else { return }
        let members = try MemberList(data, self)
        tenure.members = members.marks
        guard let member = tenure.member, let mark = members.marks[member.user] else {
            throw broken(.presence, "is not on \(channel) itself: \(data)")
        }
        if mark > 0 { tenure.seen.insert(.arrival(mark)) }
        guard members.marks.count <= rules.membersMax else {
            throw broken(.limits, "found \(members.marks.count) members on \(channel)")
        }
    }

    private func hear(count: Int, _ tenure: Tenure) throws(Violation) {
        guard rules.countsAreTold, !tenure.room.channel.isPresence, count > 0 else {
            throw broken(.counts, "was told a count of \(tenure.room.name)")
        }
        if let last = tenure.lastCount, abs(last - count) != 1 {
            throw broken(
                .counts,
                "was told \(count) subscribers of \(tenure.room.name) after \(last)"
            )
        }
        tenure.lastCount = count
        world.meet(.count)
    }

    private func hear(arrival user: String, _ info: String?, _ tenure: Tenure) throws(Violation) {
        let mark = MemberList.mark(ofInfo: info ?? "")
        guard let index = Cast.users.firstIndex(of: user), let mark else {
            throw broken(.presence, "was told of \(user), \(info ?? "of whom nothing is known")")
        }
        guard tenure.members.updateValue(mark, forKey: index) == nil else {
            throw broken(.presence, "was told twice that \(user) is on \(tenure.room.name)")
        }
        world.meet(.arrival)
        if mark > 0 { try note(.arrival(mark), of: tenure) }
    }

    private func hear(departure user: String, _ tenure: Tenure) throws(Violation) {
        guard let index = Cast.users.firstIndex(of: user),
            let mark = tenure.members.removeValue(forKey: index)
        else {
            throw broken(
                .presence,
                "was told that \(user) has left \(tenure.room.name), and was not there"
            )
        }
        world.meet(.departure)
        if mark > 0 { try note(.departure(mark), of: tenure) }
    }

    private func note(_ token: Token, of tenure: Tenure) throws(Violation) {
        guard tenure.seen.insert(token).inserted else {
            throw broken(.once, "saw \(token.text) of \(tenure.room.name) twice")
        }
        tenure.tokens.append(token)
    }

    // MARK: - Events

    /// What a cache channel opens with comes right behind the grant.
    private func checkOpening(_ message: ServerMessage) throws(Violation) {
        let awaiting = tenures.values.joined().first { $0.awaitsOpening }
        guard let awaiting else { return }
        switch message {
        case .cacheMiss(awaiting.room.channel.name): return
        case .event(let event) where event.channel == awaiting.room.channel.name: return
        default: throw broken(.cache, "heard \(message) ahead of what \(awaiting.room.name) holds")
        }
    }

    private func hear(missOf tenure: Tenure) throws(Violation) {
        guard tenure.awaitsOpening else {
            throw broken(
                .cache,
                "heard of a miss on \(tenure.room.name), for which it was too late"
            )
        }
        tenure.awaitsOpening = false
        world.meet(.miss)
        let lifetime = Cast.cacheLifetime * 1_000
        for event in tenure.room.lastEvents {
            guard event.settledAt != nil, world.now < event.time + lifetime else { continue }
            throw broken(
                .cache,
                "found nothing on \(tenure.room.name), which holds event \(event.id)"
            )
        }
    }

    private func hear(_ event: ReceivedEvent, _ message: ServerMessage) throws(Violation) {
        guard let channel = event.channel else {
            throw broken(.answers, "heard \(message)")
        }
        let tenure = try tenure(channel, message)
        guard let id = event.data.flatMap({ Int($0.prefix { $0 != ":" }) }),
            let publication = world.publications[id]
        else { throw broken(.content, "heard \(message), which nobody has published") }
        publication.wasSeen = true
        guard publication.app == app,
            publication.channels.contains(where: { Cast.channels[$0].name == channel })
        else { throw broken(.audience, "heard event \(id) on \(tenure.room.name)") }
        guard publication.name == event.name, publication.data == event.data else {
            throw broken(.content, "heard event \(id) otherwise than it was published: \(message)")
        }
        if tenure.awaitsOpening { return try open(tenure, with: publication) }
        guard !publication.isNot(for: self) else {
            throw broken(.exclusion, "heard event \(id), from which it was left out")
        }
        if tenure.room.channel.isPresence, let sender = publication.sender {
            guard event.userID == sender.user.map({ Cast.users[$0] }) else {
                throw broken(.content, "heard event \(id) of \(event.userID ?? "nobody")")
            }
        } else if event.userID != nil {
            throw broken(.content, "heard event \(id) of a user")
        }
        guard publication.settledAt == nil else {
            throw broken(.once, "heard event \(id) when everybody had it already")
        }
        try note(.event(id), of: tenure)
        world.meet(publication.sender == nil ? .event : .clientEvent)
    }

    private func open(_ tenure: Tenure, with publication: Publication) throws(Violation) {
        tenure.awaitsOpening = false
        let lifetime = Cast.cacheLifetime * 1_000
        guard tenure.room.lastEvents.contains(where: { $0 === publication }) else {
            throw broken(
                .cache,
                "found event \(publication.id), which is not the last of \(tenure.room.name)"
            )
        }
        if let settledAt = publication.settledAt, tenure.askedAt > settledAt + lifetime {
            throw broken(.cache, "found event \(publication.id), which is out of date")
        }
        tenure.opening = publication
        world.meet(.opening)
    }

    /// The client has sent no more events than its bucket held, and than came back into it.
    func checkRate() throws(Violation) {
        guard let first = events.first else { return }
        let rate = Cast.eventsPerSecondMax
        let most = rate + (rate * (world.now - first.time) + 999) / 1_000
        guard events.count <= most else {
            throw broken(.limits, "has sent \(events.count) events, and had \(most)")
        }
    }

    // MARK: - Users

    private func hear(online: [String], offline: [String]) throws(Violation) {
        world.meet(.watchlist)
        for (users, isOnline) in [(online, true), (offline, false)] {
            for user in users {
                guard let index = Cast.users.firstIndex(of: user), watched.contains(index) else {
                    throw broken(.users, "was told of \(user), whom it does not watch")
                }
                guard presences[index] != isOnline else {
                    throw broken(
                        .users,
                        "was told twice that \(user) is \(isOnline ? "there" : "gone")"
                    )
                }
                presences[index] = isOnline
            }
        }
    }
}

/// The members of a presence channel, as a grant lists them.
struct MemberList {
    /// The number in what is told of each user.
    private(set) var marks: [Int: Int] = [:]

    /// Reads the list, which says everything twice, and how many there are.
    init(_ data: String, _ reader: Conversation) throws(Violation) {
        let parts = data.split(separator: #""hash":{"#)
        guard data.hasPrefix(#"{"presence":{"ids":["#), parts.count == 2 else {
            throw reader.broken(.presence, "read \(data)")
        }
        for (index, user) in Cast.users.enumerated() {
            let isListed = parts[0].contains(#""\#(user)""#)
            let entry = parts[1].firstRange(of: "\"\(user)\":")
            guard isListed == (entry != nil) else {
                throw reader.broken(.presence, "read \(data)")
            }
            if let entry { marks[index] = Self.mark(ofInfo: parts[1][entry.upperBound...]) }
        }
        guard data.hasSuffix(#""count":\#(marks.count)}}"#) else {
            throw reader.broken(.presence, "read \(data)")
        }
    }

    /// The number in `{"n":17}`.
    static func mark(ofInfo info: some StringProtocol) -> Int? {
        guard info.hasPrefix(#"{"n":"#) else { return nil }
        return Int(info.dropFirst(5).prefix { $0 != "}" })
    }
}
