import Broker
import Net
import PusherProtocol
import WebSocket

/// A connected client: its stream, its WebSocket and its session, on the shard that accepted it.
final class Connection: StreamDelegate {
    let stream: Stream
    /// What the connection's shard provides.
    private let context: ShardContext
    // Unchecked is the exclusive access to what every message needs: session and endpoint do what they are told, and
    // call nothing that could come back to the connection.
    @exclusivity(unchecked) private var session: Session
    @exclusivity(unchecked) private var endpoint: WebSocketEndpoint
    @exclusivity(unchecked) private(set) var isClosing = false
    /// Whether the shard's ``IncompleteMessages`` has an entry for the connection.
    @exclusivity(unchecked) private var holdsIncompleteMessage = false
    /// Subscriptions and unsubscriptions, for the effort of a turn; wraps around.
    @exclusivity(unchecked) private var membershipChangeCount: UInt16 = 0
    /// Whether the connection counts towards its app's quota; while authorization is pending it does not.
    private(set) var hasPlace: Bool

    /// Makes a connection, for which a place in the app's quota was taken unless authorization is pending.
    init(
        socketID: SocketID,
        app: App,
        stream: Stream,
        endpoint: consuming WebSocketEndpoint,
        context: ShardContext
    ) {
        self.stream = stream
        self.endpoint = endpoint
        self.context = context
        session = Session(socketID: socketID, app: app)
        hasPlace = !session.awaitsAuthorization
    }

    private var delegate: any ConnectionDelegate { context.connectionDelegate }

    /// The identifier that the client signs with and that backends exclude.
    var socketID: SocketID { session.socketID }

    /// The app that the client connected to.
    var app: App { session.app }

    /// Replaces the app's configuration; existing subscriptions stay.
    func replaceApp(_ app: App) { session.replaceApp(app) }

    /// The window of events compressed for many, if the client agreed to that.
    var sharedWindowBits: Int? { endpoint.sharedWindowBits }

    /// Greets the client, behind the answer to its upgrade: nothing may reach it before this.
    func begin(_ output: inout [UInt8]) {
        let timeout = context.settings.liveness.activityTimeout
        append(.connectionEstablished(socketID: socketID, activityTimeout: timeout), to: &output)
    }

    // MARK: - What arrives

    /// What one turn deals with of one client's messages, in bytes.
    ///
    /// A few compressed bytes can be a long message, and thousands of short ones fit into one read: others come first.
    private static var effortMax: Int { 128 << 10 }
    /// What a message costs however short it is, in bytes of a long one.
    private static var messageEffort: Int { 64 }
    /// What a subscription or an unsubscription costs besides: memory is allocated or freed for it.
    private static var membershipEffort: Int { 2 << 10 }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        delegate.connectionReceived(self)
        var position = 0
        var effort = 0
        do {
            while !isClosing, effort < Self.effortMax,
                let incoming = try endpoint.next(in: &bytes, at: &position)
            {
                effort += Self.messageEffort
                let changeCount = membershipChangeCount
                incoming.withPayload(in: bytes.span) {
                    effort += $0.count
                    receive(incoming.kind, $0)
                }
                let changes = Int(membershipChangeCount &- changeCount)
                effort += changes * Self.membershipEffort
            }
        } catch {
            if let limit = error.limit { context.limitMet(limit) }
            close(error.closeCode, reason: error.description)
        }
        if endpoint.hasIncompleteMessage { holdIncompleteMessage() }
        if isClosing { return bytes.count }
        if position < bytes.count, effort >= Self.effortMax { stream.redeliverUnread() }
        return position
    }

    private func receive(_ kind: Incoming.Kind, _ payload: Span<UInt8>) {
        switch kind {
        case .text: receive(text: payload)
        case .binary: close(.unsupportedData, reason: "Messages are text frames")
        case .ping: write(endpoint.pong(payload))
        case .pong: break
        case .close: answerClose()
        }
    }

    private func receive(text: Span<UInt8>) {
        if holdsIncompleteMessage { releaseIncompleteMessage() }
        let now = context.reactor.now.nanoseconds
        context.receivedCount &+= 1
        do {
            let message = try ClientMessage.parse(text, limits: app.limits.texts)
            perform(session.receive(message, now: now))
        } catch {
            perform(session.receive(error, now: now))
        }
    }

    private func holdIncompleteMessage() {
        guard !isClosing else { return }
        holdsIncompleteMessage = true
        delegate.connection(self, holdsIncompleteMessage: endpoint.incompleteMessageSize)
    }

    private func releaseIncompleteMessage() {
        holdsIncompleteMessage = false
        delegate.connection(self, holdsIncompleteMessage: nil)
    }

    private func perform(_ effects: consuming Session.Effects) {
        effects.carryOut { if !isClosing { perform($0) } }
    }

    private func perform(_ effect: consuming Session.Effect) {
        switch consume effect {
        case .send(let message): send(message)
        case .join(let channel, let member, let request):
            membershipChangeCount &+= 1
            delegate.connection(self, subscribesTo: channel, as: member, request: request)
        case .leave(let channel):
            membershipChangeCount &+= 1
            delegate.connection(self, unsubscribesFrom: channel)
        case .publish(let event, let channel): publish(event, on: channel)
        case .signIn(let user): delegate.connection(self, signsInAs: user)
        case .watch(let users): delegate.connection(self, watches: users)
        case .unwatch(let users): delegate.connection(self, unwatches: users)
        case .claimQuota: claimQuota()
        case .limitMet(let limit): context.limitMet(limit)
        case .close(let code, let message): close(code, message: message)
        }
    }

    // MARK: - Channels

    private func publish(_ event: ClientEvent, on channel: ChannelName) {
        guard let limit = delegate.connection(self, publishes: event, on: channel) else { return }
        context.limitMet(limit)
        let message =
            "Client event rejected - the broker has more events than it can relay: "
            + "try again in a second"
        send(.error(code: nil, message: message))
    }

    /// The channel's home counts this connection from here on; events follow the acknowledgement.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - grant: Who is on it from here on, and what comes ahead of its live events.
    ///   - request: What is granted.
    /// - Returns: Whether the connection still waits for this.
    func granted(_ channel: ChannelName, _ grant: Grant, request: UInt32) -> Bool {
        guard !isClosing, session.granted(channel, request: request) else { return false }
        send(.subscriptionSucceeded(channel: channel, members: grant.members))
        if case .cached(let event, _) = grant {
            if let event { write(event.bytes) } else { send(.cacheMiss(channel: channel.text)) }
        }
        return true
    }

    /// The presence channel has no room for another member.
    func refused(_ channel: ChannelName, request: UInt32, membersMax: Int) {
        guard !isClosing else { return }
        let refusal = SubscriptionRefusal.full(channel, membersMax: membersMax)
        let now = context.reactor.now.nanoseconds
        perform(session.refused(channel, request: request, refusal, now: now))
    }

    // MARK: - Users

    /// Tells the client of users whom it watches.
    func learn(online: [UserID], offline: [UserID]) {
        guard !isClosing,
            let message = session.updatePresence(online: online, offline: offline)
        else {
            return
        }
        send(message)
    }

    /// Authorizes the connection without a signature, because the app no longer requires one.
    func authorize() { perform(session.authorize()) }

    /// The connection counts towards its app's quota from here on.
    private func claimQuota() {
        delegate.connectionIsAuthorized(self)
        hasPlace = app.quota.take()
        if !hasPlace {
            context.limitMet(.appConnections)
            close(.overConnectionQuota, message: PusherCode.overConnectionQuota.message)
        }
    }

    // MARK: - What leaves

    private func send(_ message: ServerMessage) {
        var frame: [UInt8] = []
        frame.reserveCapacity(128)
        append(message, to: &frame)
        write(frame)
    }

    private func append(_ message: ServerMessage, to bytes: inout [UInt8]) {
        endpoint.append(.text, to: &bytes) { message.append(to: &$0) }
    }

    private func write(_ frame: consuming [UInt8]?) {
        guard let frame else { return }
        stream.write(frame)
    }

    // MARK: - Liveness

    /// Asks a client that has been silent for a sign of life, or gives it up.
    func answer(_ verdict: Liveness.Verdict) {
        guard !isClosing else { return }
        switch verdict {
        case .wait: break
        case .ping:
            let empty: [UInt8] = []
            write(endpoint.ping(empty.span))
        case .close:
            context.limitMet(.pongTime)
            close(.pongNotReceived, message: "Pong reply not received")
        }
    }

    // MARK: - The end

    /// Says why in a `pusher:error`, then closes with the same code.
    func close(_ code: PusherCode, message: String, droppingQueue: Bool = false) {
        guard beginClosing() else { return }
        if droppingQueue { stream.discardQueue() }
        send(.error(code: code, message: message))
        finish(with: endpoint.close(code.closeCode, reason: message))
    }

    /// Closes with a code of WebSocket's own.
    private func close(_ code: CloseCode, reason: String) {
        guard beginClosing() else { return }
        finish(with: endpoint.close(code, reason: reason))
    }

    private func answerClose() {
        guard beginClosing() else { return }
        // RFC 6455 §5.5.1: behind its close frame the client sends nothing.
        finish(with: endpoint.answerClose(), peerIsDone: true)
    }

    /// Leaves the channels first: what waits in them goes before the close frame.
    private func beginClosing() -> Bool {
        guard !isClosing else { return false }
        isClosing = true
        // The peer may take its time to close, and the rest of the message is not read.
        endpoint.discardIncompleteMessage()
        if holdsIncompleteMessage { releaseIncompleteMessage() }
        let registrations = session.end()
        delegate.connectionIsClosing(self, registrations)
        return true
    }

    private func finish(with frame: [UInt8]?, peerIsDone: Bool = false) {
        write(frame)
        stream.close(within: context.settings.farewellTimeout, peerIsDone: peerIsDone)
    }

    func streamReachedEnd(_ stream: Stream) {
        if beginClosing() { finish(with: nil) }
    }

    func streamOverflowed(_ stream: Stream) {
        // What is queued behind a reader this slow would come too late anyway: the code tells it to reconnect, and
        // nothing after the gap is sent, so no message is lost without the client's knowledge.
        let message = "The connection reads too slowly: its queue is full"
        context.limitMet(.queuedBytes)
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

    func memoryBudget(of stream: Stream) -> MemoryBudget? { delegate.queueBudget(of: app) }

    func streamExceededBudget(_ stream: Stream, _ budget: MemoryBudget) {
        let isOfAll = budget === context.reactor.queueBudget
        context.limitMet(isOfAll ? .queuedBytesTotal : .appQueuedBytes)
        reportDroppedQueue()
        let message = "The connection reads too slowly, and the memory of all queues is used up"
        close(.overCapacity, message: message, droppingQueue: true)
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        _ = beginClosing()
        delegate.connectionClosed(self)
    }
}

extension Connection: TimerTarget {
    /// Called at the deadline by which the connection had to be authorized (Pusher documentation, "Authorized connections").
    func timerFired(tag: Int) {
        guard !isClosing, !hasPlace else { return }
        guard let seconds = app.features.authorizationTimeout else { return authorize() }
        context.limitMet(.authorizationTime)
        close(
            .unauthorized,
            message: "Not authorized within \(seconds) seconds: sign in, or subscribe to a private "
                + "or presence channel"
        )
    }
}

extension WebSocketError {
    /// The limit that is met, if that is what is wrong.
    fileprivate var limit: Limit? {
        switch self {
        case .messageTooLong: .messageLength
        case .tooManyFragments: .messageFragments
        default: nil
        }
    }
}
