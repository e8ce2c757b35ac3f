/// Messages that a client sends, and the answers that it expects.
extension ClientModel {
    /// Sends a message, and records the expected answers; does nothing if they are unpredictable.
    func send(_ action: ClientAction) {
        guard isAlive, !isMute else { return }
        switch action {
        case .subscribe(let channel, let signature, let user, let tracks):
            subscribe(channel, signature, user, tracks)
        case .subscribeToInvalidName:
            send("pusher:subscribe", #""channel":"no name!""#)
            expect(
                .subscriptionError(channel: "no name!", type: "InvalidChannel"),
                .error(code: nil)
            )
        case .unsubscribe(let channel): unsubscribe(channel)
        case .subscribeBriefly(let channel, let user, let stays, let tracks):
            guard currentSubscription(channel) == nil else { return }
            subscribe(channel, .right, user, tracks)
            unsubscribe(channel)
            if stays { subscribe(channel, .right, user, tracks) }
        case .signIn(let user, let watching, let signature): signIn(user, watching, signature)
        case .event(let channel, let length): publish(channel, length)
        case .burst(let channel):
            guard currentSubscription(channel) != nil else { return }
            for _ in 0..<Scenario.eventsPerSecondMax + 4 { publish(channel, 8) }
        case .flood: flood()
        case .ping:
            send("pusher:ping", "")
            expect(.pong)
        case .pingFrame:
            transport.ping(mask: mask)
            expect(.pongFrame)
        case .malformed(let malformed): send(malformed)
        case .close:
            transport.sendClose(mask: mask)
            hasLeft = true
        }
    }

    /// Answers a ping frame.
    func answer(_ payload: [UInt8]) {
        if !isMute { transport.answer(payload, mask: mask) }
    }

    /// Answers a `pusher:ping`, as every second client does; the others answer ping frames only.
    func answerPing() {
        if !isMute, !hasLeft, number.isMultiple(of: 2) { send("pusher:pong", "") }
    }

    private func send(_ event: String, _ members: String) {
        transport.send(#"{"event":"\#(event)","data":{\#(members)}}"#, mask: mask)
    }

    private func expect(_ expectations: Expectation...) { self.expectations += expectations }

    private func send(_ malformed: ClientAction.Malformed) {
        func frame(_ bytes: [UInt8], closingWith code: Int) {
            transport.pipe.enqueue(bytes)
            dueCodes = [code]
        }
        switch malformed {
        case .noJSON:
            transport.send("{\"event\":", mask: mask)
            expect(.error(code: nil))
        case .unknownEvent:
            send("pusher:unknown", "")
            expect(.error(code: nil))
        case .noEvent:
            transport.send("{\"data\":{}}", mask: mask)
            expect(.error(code: nil))
        case .binary: frame([0x82, 0x80, 1, 2, 3, 4], closingWith: 1003)
        case .invalidText: frame([0x81, 0x81, 0, 0, 0, 0, 0xFF], closingWith: 1007)
        case .unmasked: frame([0x81, 0x01, 0x41], closingWith: 1002)
        case .reserved: frame([0x83, 0x80, 1, 2, 3, 4], closingWith: 1002)
        case .tooLong: frame([0x81, 0xFE, 0x10, 0x01, 1, 2, 3, 4], closingWith: 1009)
        }
    }

    /// Sends more faulty messages than a minute allows, even when another minute begins meanwhile.
    private func flood() {
        for _ in 0...2 * Scenario.faultsPerMinuteMax {
            transport.send("{}", mask: mask)
            expectations.append(.optionalFault)
        }
        dueCodes = [4100]
    }

    // MARK: - Subscribing

    private func subscribe(
        _ channel: Int,
        _ signature: ClientAction.Signature,
        _ user: Int?,
        _ tracks: Bool
    ) {
        let properties = Scenario.channels[channel]
        let former = currentSubscription(channel)
        let undecided = currentSubscriptions.filter {
            $0.model.channel.isPresence && $0.grantedAt == nil
        }
        // The broker may still have it, or may have refused it because the channel is full.
        if let former, undecided.contains(where: { $0 === former }) { return }
        let count = currentSubscriptions.count
        let isUndecided = count - undecided.count < rules.subscriptionsMax
        if former == nil, count >= rules.subscriptionsMax, isUndecided { return }

        let mark = world.makeMark()
        let data =
            properties.isPresence
            ? user.map { #"{"user_id":"\#(Scenario.users[$0])","user_info":{"n":\#(mark)}}"# } : nil
        var members = #""channel":"\#(properties.name)""#
        if properties.isSigned,
            let auth = auth(signature, "\(properties.name)\(data.map { ":" + $0 } ?? "")")
        {
            members += #","auth":"\#(auth)""#
        }
        if let data { members += #","channel_data":\#(quoted(data))"# }
        var tracked: TrackedPart?
        if tracks {
            let request = track(channel)
            members += request.members
            tracked = request.tracked
        }
        send("pusher:subscribe", members)

        if former != nil { return expect(.error(code: nil)) }
        if count >= rules.subscriptionsMax {
            return refuse(properties, type: "LimitReached")
        }
        if properties.isSigned, !isValid(signature) { return refuse(properties, type: "AuthError") }
        if let owner = properties.user, owner != self.user {
            return refuse(properties, type: "AuthError")
        }
        var member: (user: Int, mark: Int)?
        if properties.isPresence {
            if let user {
                member = (user, mark)
            } else if let user = self.user {
                member = (user, signInMark)
            } else {
                return refuse(properties, type: "AuthError")
            }
        }
        let subscription = SubscriptionModel(
            model: world.model(app, channel),
            client: self,
            askedAt: world.now,
            member: member,
            tracked: tracked
        )
        if subscription.earlier != nil {
            // They may fill the send queue.
            pendingBytes += subscription.model.byteCount(of: Scenario.openingCount)
        }
        subscriptions[channel, default: []].append(subscription)
        subscription.model.subscriptions.append(subscription)
        if properties.isSigned { isAuthorized = true }
    }

    private func refuse(_ channel: ChannelProperties, type: String) {
        expect(.subscriptionError(channel: channel.name, type: type), .error(code: nil))
    }

    private func unsubscribe(_ channel: Int) {
        send("pusher:unsubscribe", #""channel":"\#(Scenario.channels[channel].name)""#)
        guard let subscription = currentSubscription(channel) else {
            return expect(.error(code: nil))
        }
        recordContact()
        subscription.isLeaving = true
        send("pusher:ping", "")
        expect(.optionalNotSubscribed, .fence(subscription))
    }

    // MARK: - Sign-in and client events

    private func signIn(_ user: Int, _ watching: [Int], _ signature: ClientAction.Signature) {
        let mark = -world.makeMark()
        let list = watching.map { #""\#(Scenario.users[$0])""# }.joined(separator: ",")
        let data =
            #"{"id":"\#(Scenario.users[user])","user_info":{"n":\#(mark)},"watchlist":[\#(list)]}"#
        let auth =
            auth(signature == .none ? .wrong : signature, "::user::" + data, separator: "") ?? ""
        send("pusher:signin", #""auth":"\#(auth)","user_data":\#(quoted(data))"#)
        guard isValid(signature), self.user == nil || self.user == user else {
            return expect(.error(code: 4009))
        }
        self.user = user
        if world.openTerminations.contains(AppUser(app: app, user: user)) {
            mayBeTerminated = true
        }
        signInMark = mark
        isAuthorized = true
        expect(.signedIn(data, watching: watching))
    }

    private func publish(_ channel: Int, _ length: Int) {
        let properties = Scenario.channels[channel]
        let publication = world.publish(
            app: app,
            channels: [channel],
            name: "client-event",
            length: length
        )
        publication.sender = (self, currentSubscription(channel)?.member?.user)
        transport.send(
            #"{"event":"client-event","channel":"\#(properties.name)","data":"\#(publication.data)"}"#,
            mask: mask
        )
        send("pusher:ping", "")
        let subscription = currentSubscription(channel)
        if rules.clientEvents, properties.isSigned, let subscription {
            publication.sender?.user = subscription.member?.user
            expect(.clientEvent(publication), .pong)
        } else {
            publication.status = .refused
            expect(.error(code: nil), .pong)
        }
    }

    // MARK: - Signatures

    private func isValid(_ signature: ClientAction.Signature) -> Bool {
        switch signature {
        case .right: true
        case .second: rules.furtherSecrets.contains(Scenario.secondSecret)
        case .none, .wrong, .ofAnotherSocket, .foreign: false
        }
    }

    /// The signature of the app's backend, or a wrong one.
    private func auth(
        _ signature: ClientAction.Signature,
        _ text: String,
        separator: String = ":"
    ) -> String? {
        let socketID = socketID ?? ""
        let secret: String
        switch signature {
        case .none: return nil
        case .wrong: return "\(Scenario.keys[app]):\(String(repeating: "0a", count: 32))"
        case .foreign: secret = Scenario.foreignSecret
        case .second: secret = Scenario.secondSecret
        case .right, .ofAnotherSocket: secret = Scenario.secrets[app]
        }
        let signed = signature == .ofAnotherSocket ? "1.1" : socketID
        return "\(Scenario.keys[app]):\(sign(signed + separator + text, with: secret))"
    }
}
