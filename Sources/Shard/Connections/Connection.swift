package import Broker
package import Net
package import PusherProtocol

/// A connected client: its session and its transport, on the shard that accepted it.
package final class Connection {
    /// What carries its messages.
    let transport: any Transport
    /// The context of the connection's shard.
    package let context: ShardContext
    // Exclusive access to the fields that every message needs is not checked: the session calls nothing that re-enters
    // the connection.
    @exclusivity(unchecked) var session: Session
    @exclusivity(unchecked) package private(set) var isClosing = false
    /// Whether no messages are read for a while, because too many signatures were refused.
    @exclusivity(unchecked) private var isSlowed = false
    /// The number of subscriptions and unsubscriptions, to limit the effort of a turn; wraps around.
    @exclusivity(unchecked) private var membershipChangeCount: UInt16 = 0
    /// Whether the client has a session token, as ``session`` does: asking a value of another module copies it.
    let hasToken: Bool
    /// Whether the connection counts towards its app's quota; it does not before it is authorized.
    private(set) var countsTowardsQuota: Bool

    /// The index of the client's library in ``ShardContext/clientNames``.
    package let clientName: UInt16
    /// A digest of the client's address, for limits by address; 0 if it is not known.
    let addressDigest: UInt32

    /// Creates a connection, which is already counted in the app's quota unless it has to be authorized first.
    package init(
        socketID: SocketID,
        app: App,
        transport: any Transport,
        token: SessionToken? = nil,
        clientName: UInt16 = 0,
        addressDigest: UInt32 = 0,
        context: ShardContext
    ) {
        self.clientName = clientName
        self.addressDigest = addressDigest
        self.transport = transport
        self.context = context
        session = Session(socketID: socketID, app: app)
        hasToken = token != nil
        if let token {
            session.use(
                token,
                at: context.reactor.readClock().nanoseconds,
                partLengthMin: context.settings.confirmationPortions.replayLengthMin
            )
        }
        countsTowardsQuota = !session.awaitsAuthorization
    }

    var delegate: any ConnectionDelegate { context.connectionDelegate }

    /// The identifier that the client signs with and that backends exclude.
    package var socketID: SocketID { session.socketID }

    /// The app that the client connected to.
    package var app: App { session.app }

    /// Replaces the app's configuration; existing subscriptions stay.
    func replaceApp(_ app: App) { session.replaceApp(app) }

    /// The user that the client has signed in as, if it has.
    var user: UserID? { session.user }

    /// The stream of the transport.
    package var stream: Stream { transport.stream }

    /// The first message; `receipts` is whether the client has requested receipts of its client events.
    package func greeting(receipts: Bool) -> ServerMessage {
        .connectionEstablished(
            socketID: socketID,
            activityTimeout: context.settings.liveness.activityTimeout,
            receipts: receipts
        )
    }

    // MARK: - Receiving

    /// The effort of a message besides its length, in bytes.
    package static var messageEffort: Int { 64 }
    /// The additional effort of a subscription or unsubscription, which allocates or frees memory.
    private static var membershipEffort: Int { 32 << 10 }

    /// Whether further messages are read at present.
    package var mayReceive: Bool { !isClosing && !isSlowed }

    /// Called for every read, before its messages are received.
    package func received() { delegate.connectionReceived(self) }

    /// Receives a message, and returns its effort besides its length, in bytes.
    package func receive(text: Span<UInt8>) -> Int {
        let changeCount = membershipChangeCount
        let now = context.reactor.now.nanoseconds
        context.receivedCount &+= 1
        if context.isObserved(.frames) { trace(received: text) }
        do {
            let message = try ClientMessage.parse(text, limits: app.limits.texts)
            if case .pong = message {
                delegate.connectionReceivedPong(self)
                receivePong()
            }
            perform(session.receive(message, now: now))
        } catch {
            perform(session.receive(error, now: now))
        }
        let changes = Int(membershipChangeCount &- changeCount)
        return Self.messageEffort + changes * Self.membershipEffort
    }

    /// Called with the memory that an incomplete message takes, in bytes; `nil` when there is none any more.
    package func holdsIncompleteMessage(of byteCount: Int?) {
        delegate.connection(self, holdsIncompleteMessage: byteCount)
    }

    func perform(_ effects: consuming Session.Effects) {
        if let subject = effects.refusal, context.isObserved(.refusals) { report(subject, effects) }
        effects.carryOut { if !isClosing { perform($0) } }
    }

    private func perform(_ effect: consuming Session.Effect) {
        switch consume effect {
        case .send(let message): send(message)
        case .join(let channel, let member, let request):
            membershipChangeCount &+= 1
            delegate.connection(
                self,
                subscribesTo: channel,
                as: member,
                from: nil,
                request: request
            )
        case .joinFrom(let position, let channel, let member, let request):
            membershipChangeCount &+= 1
            delegate.connection(
                self,
                subscribesTo: channel,
                as: member,
                from: position,
                request: request
            )
        case .claimSession(var claim):
            claim.addressDigest = addressDigest
            delegate.connection(self, claims: claim)
        case .leave(let channel):
            membershipChangeCount &+= 1
            delegate.connection(self, unsubscribesFrom: channel)
        case .publish(let event, let channel): publish(event, on: channel)
        case .signIn(let user): delegate.connection(self, signsInAs: user)
        case .watch(let users): delegate.connection(self, watches: users)
        case .unwatch(let users): delegate.connection(self, unwatches: users)
        case .slowDown: slowDown()
        case .claimQuota: startCountingTowardsQuota()
        case .limitMet(let limit): context.limitMet(limit, of: app.id)
        case .close(let code, let message): close(code, message: message)
        }
    }

    /// The tag of the timer that ends ``isSlowed``.
    fileprivate static var slowedTag: Int { 1 }

    /// Stops reading for ``Session/signatureDelay``; what has arrived is kept.
    private func slowDown() {
        guard !isSlowed else { return }
        isSlowed = true
        stream.pauseReading()
        context.reactor.schedule(after: Session.signatureDelay, self, tag: Self.slowedTag)
        context.limitMet(
            .faultRate,
            of: app.id,
            consequence: "refused signatures: the client's next message is read after 50 ms"
        )
    }

    // MARK: - Channels

    private func publish(_ event: ClientEvent, on channel: ChannelName) {
        guard let limit = delegate.connection(self, publishes: event, on: channel) else { return }
        context.limitMet(limit, of: app.id)
        let message =
            "Client event rejected - the broker has more events than it can relay: "
            + "try again in a second"
        send(.error(code: nil, message: message))
    }

    /// Called when the channel's home has granted a subscription: sends the acknowledgement, which events follow.
    ///
    /// Returns whether the request is still pending.
    func granted(_ channel: ChannelName, _ grant: Grant, request: UInt32) -> Bool {
        guard !isClosing, session.granted(channel, request: request, isTracked: grant.hasPosition)
        else { return false }
        switch grant {
        // The broker keeps the position, for the client's session token.
        case .tracked(let replay, let members, let cached) where !session.tracks(channel):
            acknowledge(channel, replay, members: members, cached: cached)
        case .live(let members) where hasToken:
            acknowledge(channel, nil, members: members, cached: .nothing)
        case .cached(let event, let members) where hasToken:
            let cached = event.map(Grant.CachedOpening.event) ?? .miss
            acknowledge(channel, nil, members: members, cached: cached)
        case .live(let members):
            send(.subscriptionSucceeded(channel: channel, members: members))
        case .cached(let event, let members):
            send(.subscriptionSucceeded(channel: channel, members: members))
            if let event { transport.write(event) } else { send(.cacheMiss(channel: channel.text)) }
        case .tracked(let replay, let members, let cached):
            for former in replay.former {
                restarted(channel, at: former.start, members: members)
                write(former.messages, on: channel, isTracked: true)
            }
            send(.subscriptionSucceeded(channel: channel, members: members, start: replay.start))
            write(cached, on: channel)
            write(replay.messages, on: channel, isTracked: true)
        case .opened(let messages, let members, let cached):
            send(.subscriptionSucceeded(channel: channel, members: members))
            write(cached, on: channel)
            write(messages, on: channel, isTracked: false)
        }
        return true
    }

    /// Whether the client tracks its position on a channel.
    func tracks(_ channel: ChannelName) -> Bool { !isClosing && session.tracks(channel) }

    /// Called when a channel that the client tracks continues in another stream: acknowledges the subscription once
    /// more.
    func restarted(_ channel: ChannelName, at start: SubscriptionStart, members: [Member]) {
        send(.subscriptionSucceeded(channel: channel, members: members, start: start))
    }

    private func write(_ cached: Grant.CachedOpening, on channel: ChannelName) {
        switch cached {
        case .nothing: break
        case .event(let event): transport.write(event)
        case .miss: send(.cacheMiss(channel: channel.text))
        }
    }

    /// Sends earlier messages.
    private func write(_ messages: [ReplayedMessage], on channel: ChannelName, isTracked: Bool) {
        for message in messages {
            switch message {
            case .envelope(let envelope): transport.write(envelope)
            case .leftOut(let serial) where isTracked:
                send(.position(channel: channel.text, serial: serial, key: nil))
            case .leftOut: break
            }
        }
    }

    /// Encodes what the client gets in place of an event that excludes it.
    ///
    /// `key` is the event's key, if the event is the client's own and a receipt is requested.
    func substitute(
        for message: ChannelMessage,
        on channel: ChannelName,
        receiptOf key: IdempotencyKey?
    ) -> [UInt8] {
        let serial = message.serial != 0 && session.tracks(channel) ? message.serial : nil
        guard serial != nil || key != nil else { return [] }
        return transport.encode(.position(channel: channel.text, serial: serial, key: key?.text))
    }

    /// Called when the channel's home has refused the subscription.
    func refused(_ channel: ChannelName, request: UInt32, _ refusal: SubscriptionRefusal) {
        guard !isClosing else { return }
        let now = context.reactor.now.nanoseconds
        perform(session.refused(channel, request: request, refusal, now: now))
    }

    // MARK: - Users

    /// Reports to the client which watched users are online and offline.
    func reportUsers(online: [UserID], offline: [UserID]) {
        guard !isClosing,
            let message = session.updatePresence(online: online, offline: offline)
        else {
            return
        }
        send(message)
    }

    /// Cancels the requirement to be authorized.
    func waiveAuthorization() { perform(session.authorize()) }

    /// Counts the authorized connection towards its app's quota, or closes it.
    private func startCountingTowardsQuota() {
        delegate.connectionIsAuthorized(self)
        countsTowardsQuota = app.quota.take()
        if !countsTowardsQuota {
            context.limitMet(.appConnections, of: app.id)
            close(.overConnectionQuota, message: PusherCode.overConnectionQuota.message)
        }
    }

    // MARK: - Sending

    /// Sends a message of the protocol, unless the connection is closing.
    func send(_ message: ServerMessage) { transport.write(transport.encode(message)) }

    // MARK: - Liveness

    /// Pings a silent client, or closes it.
    func perform(_ action: Liveness.Action) {
        guard !isClosing else { return }
        switch action {
        case .wait: break
        case .ping(let ping):
            if ping != .frame {
                session.notePing()
                send(.ping)
            }
            if ping != .message { transport.ping(number: nil) }
        case .close:
            context.limitMet(.pongTime, of: app.id)
            close(.pongNotReceived, message: "Pong reply not received")
        }
    }

    // MARK: - Closing

    /// Sends a `pusher:error`, then closes with the same code.
    package func close(_ code: PusherCode, message: String, droppingQueue: Bool = false) {
        let ending = ConnectionRecord.Ending(code: code.rawValue, dropsQueue: droppingQueue)
        guard beginClosing(ending) else { return }
        if droppingQueue { stream.discardQueue() }
        send(.error(code: code, message: message))
        transport.close(code, reason: message)
    }

    /// Unsubscribes from the channels, unless the connection is closing already; the transport closes afterwards.
    ///
    /// Events already sent precede the end.
    package func beginClosing(_ ending: ConnectionRecord.Ending = ConnectionRecord.Ending()) -> Bool
    {
        guard !isClosing else { return false }
        isClosing = true
        transport.stopReceiving()
        let registrations = session.end(at: context.milliseconds)
        delegate.connectionIsClosing(self, registrations, ending)
        return true
    }

    /// Closes a connection that reads too slowly.
    package func queueOverflowed() {
        // The queue of a reader this slow is out of date. The code makes the client reconnect, and nothing after the
        // gap is sent, so the client knows of every lost message.
        let message = "The connection reads too slowly: its queue is full"
        context.limitMet(.queuedBytes, of: app.id)
        reportDroppedQueue()
        close(.overCapacity, message: message, droppingQueue: true)
    }

    private func reportDroppedQueue() {
        context.notify(
            .droppedDeliveries,
            of: app.id,
            .deliveriesDropped(socketID, byteCount: stream.queuedByteCount)
        )
    }

    /// The budget of the app's queues.
    package var queueBudget: MemoryBudget { delegate.queueBudget(of: app) }

    /// Closes the connection because its queue is among the longest when a budget is exceeded.
    package func queueExceeded(_ budget: MemoryBudget) {
        let isTotal = budget === context.reactor.queueBudget
        context.limitMet(isTotal ? .queuedBytesTotal : .appQueuedBytes, of: app.id)
        reportDroppedQueue()
        let message = "The connection reads too slowly, and the memory for all queues is full"
        close(.overCapacity, message: message, droppingQueue: true)
    }

    /// Whether the kernel has not accepted everything that was written.
    var hasQueuedBytes: Bool { stream.queuedByteCount > 0 }

    /// Called when the kernel has accepted everything after it had refused bytes.
    package func queueDrained() { delegate.connectionDrained(self) }

    /// Called when the transport has ended.
    package func closed() {
        _ = beginClosing()
        delegate.connectionClosed(self)
    }
}

extension Connection: TimerTarget {
    /// Called when messages are read again, or at the deadline of the authorization (Pusher documentation, "Authorized
    /// connections").
    package func timerFired(tag: Int) {
        guard tag != Self.slowedTag else {
            isSlowed = false
            return stream.resumeReading()
        }
        guard !isClosing, !countsTowardsQuota else { return }
        guard let seconds = app.features.authorizationDeadline else { return waiveAuthorization() }
        context.limitMet(.authorizationTime, of: app.id)
        close(
            .unauthorized,
            message: "Not authorized within \(seconds) seconds: sign in, or subscribe to a private "
                + "or presence channel"
        )
    }
}
