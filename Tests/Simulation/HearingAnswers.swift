import PusherProtocol

/// The answers that come in the order of what was said.
extension Conversation {
    /// Finds the answer among those that have to come, past those that need not.
    func settle(_ what: String, _ isIt: (Debt) -> Bool) throws(Violation) {
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

    func settlePong() throws(Violation) {
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

    func end(_ tenure: Tenure) {
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

    func hear(error code: Int?, _ text: String) throws(Violation) {
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

    func isFarewell(_ text: String) -> Bool {
        text.hasPrefix("The app has closed") || text.hasPrefix("Not authorized within")
    }

    func hear(refusal type: String, _ text: String, on channel: String) throws(Violation) {
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

    /// The client has sent no more events than its bucket held, and than came back into it.
    func checkRate() throws(Violation) {
        guard let first = events.first else { return }
        let rate = Cast.eventsPerSecondMax
        let most = rate + (rate * (world.now - first.time) + 999) / 1_000
        guard events.count <= most else {
            throw broken(.limits, "has sent \(events.count) events, and had \(most)")
        }
    }
}
