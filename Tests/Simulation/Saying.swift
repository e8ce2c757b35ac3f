/// What the client says, and what has to come of it.
extension Conversation {
    /// Says something, and notes what has to come of it; says nothing if that cannot be known.
    func say(_ utterance: Utterance) {
        guard isAlive, !isMute else { return }
        switch utterance {
        case .subscribe(let channel, let signature, let user):
            subscribe(channel, signature, user)
        case .subscribeToInvalidName:
            say("pusher:subscribe", #""channel":"no name!""#)
            owe(.subscriptionError(channel: "no name!", type: "InvalidChannel"), .error(code: nil))
        case .unsubscribe(let channel): unsubscribe(channel)
        case .glance(let channel, let user, let stays):
            guard currentTenure(channel) == nil else { return }
            subscribe(channel, .right, user)
            unsubscribe(channel)
            if stays { subscribe(channel, .right, user) }
        case .signIn(let user, let watching, let signature): signIn(user, watching, signature)
        case .event(let channel, let length): publish(channel, length)
        case .burst(let channel):
            guard currentTenure(channel) != nil else { return }
            for _ in 0..<Cast.eventsPerSecondMax + 4 { publish(channel, 8) }
        case .flood: flood()
        case .ping:
            say("pusher:ping", "")
            owe(.pong)
        case .pingFrame:
            client.ping(mask: mask)
            owe(.pongFrame)
        case .garbage(let garbage): say(garbage)
        case .close:
            client.sayClose(mask: mask)
            hasLeft = true
        }
    }

    /// Answers a ping frame.
    func answer(_ payload: [UInt8]) {
        if !isMute { client.answer(payload, mask: mask) }
    }

    private func say(_ event: String, _ members: String) {
        client.say(#"{"event":"\#(event)","data":{\#(members)}}"#, mask: mask)
    }

    private func owe(_ debts: Debt...) { self.debts += debts }

    private func say(_ garbage: Utterance.Garbage) {
        func frame(_ bytes: [UInt8], closingWith code: Int) {
            client.pipe.say(bytes)
            dueCodes = [code]
        }
        switch garbage {
        case .noJSON:
            client.say("{\"event\":", mask: mask)
            owe(.error(code: nil))
        case .unknownEvent:
            say("pusher:unknown", "")
            owe(.error(code: nil))
        case .noEvent:
            client.say("{\"data\":{}}", mask: mask)
            owe(.error(code: nil))
        case .binary: frame([0x82, 0x80, 1, 2, 3, 4], closingWith: 1003)
        case .invalidText: frame([0x81, 0x81, 0, 0, 0, 0, 0xFF], closingWith: 1007)
        case .unmasked: frame([0x81, 0x01, 0x41], closingWith: 1002)
        case .reserved: frame([0x83, 0x80, 1, 2, 3, 4], closingWith: 1002)
        case .tooLong: frame([0x81, 0xFE, 0x10, 0x01, 1, 2, 3, 4], closingWith: 1009)
        }
    }

    /// Sends so much nonsense that it is too much for one minute, even when another begins in the middle.
    private func flood() {
        for _ in 0...2 * Cast.faultsPerMinuteMax {
            client.say("{}", mask: mask)
            debts.append(.perhapsFault)
        }
        dueCodes = [4100]
    }

    // MARK: - Subscribing

    private func subscribe(_ channel: Int, _ signature: Utterance.Signature, _ user: Int?) {
        let cast = Cast.channels[channel]
        let former = currentTenure(channel)
        let undecided = currentTenures.filter { $0.room.channel.isPresence && $0.grantedAt == nil }
        // Nobody knows whether the broker still has it, or has refused it for want of room.
        if let former, undecided.contains(where: { $0 === former }) { return }
        let count = currentTenures.count
        let isUndecided = count - undecided.count < rules.subscriptionsMax
        if former == nil, count >= rules.subscriptionsMax, isUndecided { return }

        let mark = world.makeMark()
        let data =
            cast.isPresence
            ? user.map { #"{"user_id":"\#(Cast.users[$0])","user_info":{"n":\#(mark)}}"# } : nil
        var members = #""channel":"\#(cast.name)""#
        if cast.isSigned, let auth = auth(signature, "\(cast.name)\(data.map { ":" + $0 } ?? "")") {
            members += #","auth":"\#(auth)""#
        }
        if let data { members += #","channel_data":\#(quoted(data))"# }
        say("pusher:subscribe", members)

        if former != nil { return owe(.error(code: nil)) }
        if count >= rules.subscriptionsMax {
            return refuse(cast, type: "LimitReached")
        }
        if cast.isSigned, !isValid(signature) { return refuse(cast, type: "AuthError") }
        if let owner = cast.user, owner != self.user { return refuse(cast, type: "AuthError") }
        var member: (user: Int, mark: Int)?
        if cast.isPresence {
            if let user {
                member = (user, mark)
            } else if let user = self.user {
                member = (user, signInMark)
            } else {
                return refuse(cast, type: "AuthError")
            }
        }
        let tenure = Tenure(
            room: world.room(app, channel),
            conversation: self,
            askedAt: world.now,
            member: member
        )
        tenures[channel, default: []].append(tenure)
        tenure.room.tenures.append(tenure)
        if cast.isSigned { hasProved = true }
    }

    private func refuse(_ channel: CastChannel, type: String) {
        owe(.subscriptionError(channel: channel.name, type: type), .error(code: nil))
    }

    private func unsubscribe(_ channel: Int) {
        say("pusher:unsubscribe", #""channel":"\#(Cast.channels[channel].name)""#)
        guard let tenure = currentTenure(channel) else { return owe(.error(code: nil)) }
        tenure.isLeaving = true
        say("pusher:ping", "")
        owe(.perhapsNotSubscribed, .fence(tenure))
    }

    // MARK: - Signing in and sending

    private func signIn(_ user: Int, _ watching: [Int], _ signature: Utterance.Signature) {
        let mark = -world.makeMark()
        let list = watching.map { #""\#(Cast.users[$0])""# }.joined(separator: ",")
        let data =
            #"{"id":"\#(Cast.users[user])","user_info":{"n":\#(mark)},"watchlist":[\#(list)]}"#
        let auth =
            auth(signature == .none ? .wrong : signature, "::user::" + data, separator: "") ?? ""
        say("pusher:signin", #""auth":"\#(auth)","user_data":\#(quoted(data))"#)
        guard isValid(signature), self.user == nil || self.user == user else {
            return owe(.error(code: 4009))
        }
        self.user = user
        if world.openTerminations.contains(UserPlace(app: app, user: user)) {
            mayBeTerminated = true
        }
        signInMark = mark
        hasProved = true
        owe(.signedIn(data, watching: watching))
    }

    private func publish(_ channel: Int, _ length: Int) {
        let cast = Cast.channels[channel]
        let publication = world.publish(
            app: app,
            channels: [channel],
            name: "client-event",
            length: length
        )
        publication.sender = (self, currentTenure(channel)?.member?.user)
        client.say(
            #"{"event":"client-event","channel":"\#(cast.name)","data":"\#(publication.data)"}"#,
            mask: mask
        )
        say("pusher:ping", "")
        let tenure = currentTenure(channel)
        if rules.clientEvents, cast.isSigned, let tenure {
            publication.sender?.user = tenure.member?.user
            owe(.fate(publication), .pong)
        } else {
            publication.fate = .refused
            owe(.error(code: nil), .pong)
        }
    }

    // MARK: - Signatures

    private func isValid(_ signature: Utterance.Signature) -> Bool {
        switch signature {
        case .right: true
        case .second: rules.furtherSecrets.contains(Cast.secondSecret)
        case .none, .wrong, .ofAnotherSocket, .foreign: false
        }
    }

    /// What the app's backend gives to this client, or somebody else does.
    private func auth(
        _ signature: Utterance.Signature,
        _ text: String,
        separator: String = ":"
    ) -> String? {
        let socketID = socketID ?? ""
        let secret: String
        switch signature {
        case .none: return nil
        case .wrong: return "\(Cast.keys[app]):\(String(repeating: "0a", count: 32))"
        case .foreign: secret = Cast.foreignSecret
        case .second: secret = Cast.secondSecret
        case .right, .ofAnotherSocket: secret = Cast.secrets[app]
        }
        let signed = signature == .ofAnotherSocket ? "1.1" : socketID
        return "\(Cast.keys[app]):\(sign(signed + separator + text, with: secret))"
    }
}
