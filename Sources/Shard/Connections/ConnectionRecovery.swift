import Broker
import Net
import PusherProtocol

/// A connection whose stock client has a session token: the broker keeps its positions.
extension Connection {
    // MARK: - Grants

    /// Acknowledges a subscription whose position the broker may keep, and sends what the client has missed.
    ///
    /// The replay is `nil` for a channel without a stream; `cached` is the cached event or miss before it on a cache
    /// channel.
    func acknowledge(
        _ channel: ChannelName,
        _ replay: Replay?,
        members: [Member],
        cached: Grant.CachedOpening
    ) {
        let start = session.begin(channel, at: replay?.start, behind: replay?.former.first?.start)
        if let start, start.isResumed || start.gap != nil, members.isEmpty {
            let count = replay?.sentCount ?? 0
            send(.resumed(channel, replay: start.gap == nil ? count : nil))
        } else {
            send(.subscriptionSucceeded(channel: channel, members: members))
        }
        if let gap = start?.gap { send(.gap(gap, on: channel)) }
        switch cached {
        case .nothing: break
        case .event(let event): transport.write(event)
        case .miss: send(.cacheMiss(channel: channel.text))
        }
        if let replay { write(replay, on: channel) }
        if start != nil { delegate.connectionKeepsAnotherPosition(self) }
        if hasUnasked { delegate.connectionHasUnconfirmedGrant(self) }
    }

    /// Sends what the client has missed.
    private func write(_ replay: Replay, on channel: ChannelName) {
        for (index, former) in replay.former.enumerated() {
            if index > 0 { session.goOn(channel, at: former.start) }
            write(former.messages, behind: former.start.position.serial, on: channel)
        }
        if !replay.former.isEmpty { session.goOn(channel, at: replay.start) }
        write(replay.messages, behind: replay.start.position.serial, on: channel)
    }

    /// Sends what the client has missed of one stream, and makes it confirm each long part.
    private func write(
        _ messages: [ReplayedMessage],
        behind serial: UInt64,
        on channel: ChannelName
    ) {
        guard !messages.isEmpty else { return }
        var (serial, length) = (serial, 0)
        var lengthLeft = session.replayLengthLeft
        for message in messages {
            serial += 1
            guard case .envelope(let envelope) = message else { continue }
            length += envelope.byteCount + ConfirmationPings.messageLength
            transport.write(envelope)
            guard length >= lengthLeft else { continue }
            session.replay(upTo: serial, of: channel, length: length)
            delegate.connectionHasReplayPart(self)
            (length, lengthLeft) = (0, session.replayLengthLeft)
        }
        session.replay(upTo: serial, of: channel, length: length)
    }

    /// Called when a channel whose position is kept continues in another stream: notifies the client of a gap.
    func restartKept(_ channel: ChannelName, at start: SubscriptionStart) {
        guard isKept(channel) else { return }
        if let gap = session.restart(channel, at: start) { send(.gap(gap, on: channel)) }
        delegate.connectionKeepsAnotherPosition(self)
        delegate.connectionHasUnconfirmed(self)
    }

    /// Whether the broker keeps the client's position in a channel.
    func isKept(_ channel: ChannelName) -> Bool { hasToken && session.isKept(channel) }

    // MARK: - Confirmation

    /// Records how far a channel's messages were handed over, and returns the highest serial by now.
    func handOver(_ serial: UInt64, on channel: ChannelName) -> UInt64? {
        isClosing ? nil : session.handOver(serial, of: channel)
    }

    /// Records how far the messages of each channel were handed over.
    func handOver(upTo mark: (ChannelAddress) -> UInt64?) {
        guard !isClosing else { return }
        session.handOver { mark(ChannelAddress(app: session.app.id, name: $0)) }
    }

    /// Whether the client may be asked for a confirmation after the grant that was written.
    var canConfirmGrant: Bool {
        !isClosing && session.canBeAskedBehindGrant(at: context.milliseconds)
    }

    /// Whether messages were handed over that no ping follows.
    var hasUnasked: Bool { hasToken && session.hasUnasked }

    /// Asks the client to confirm what it has got, unless it is too early, and returns whether there is nothing more to
    /// ask.
    @discardableResult
    func confirm(
        at now: Int64,
        behind occasion: ConfirmationPings.Occasion = .messages
    ) -> Bool {
        guard !isClosing else { return true }
        guard let request = session.ask(at: now, behind: occasion) else {
            // The pong adds the connection again.
            return session.awaitsPong || !session.hasUnasked
        }
        write(request)
        return true
    }

    /// Whether the client has not confirmed something that it got.
    var hasUnconfirmed: Bool { !isClosing && hasToken && session.hasUnconfirmed }

    private func write(_ request: ConfirmationPings.Request) {
        if request.hasMessage { send(.ping) }
        if let number = request.frame { transport.ping(number: number) }
    }

    /// Handles a `pusher:pong`, or the transport's answer to a ping with a number.
    package func receivePong(number: UInt16? = nil) {
        guard hasToken else { return }
        switch session.receivePong(frame: number, at: context.milliseconds) {
        case .nothing: break
        case .isAlive(let address): return delegate.connection(self, isAliveIn: address)
        case .confirmed(let channels): delegate.connection(self, hasConfirmed: channels)
        }
        if session.hasUnasked, !session.awaitsPong { delegate.connectionHasUnconfirmed(self) }
    }

    /// The confirmed position of the client in a channel; `nil` for a channel whose position is not kept.
    func confirmedPosition(in channel: ChannelName) -> ChannelPosition? {
        session.confirmedPosition(in: channel)
    }

    // MARK: - The session

    /// Handles the answer to the claim of the session.
    func receive(_ answer: SessionAnswer) { perform(session.receive(answer)) }

    /// Hands the session over to a later connection, as it was at this time in milliseconds.
    func yieldSession(at time: Int64) -> SessionHandover? { session.yield(at: time) }

    /// The session that this connection owns, as stored for a crash.
    var storedSession: StoredSession? {
        session.stored
    }

    /// Checks whether a superseded client is alive; returns whether it is superseded.
    func checkLife() -> Bool {
        guard let request = session.check() else { return false }
        write(request)
        return true
    }

    /// Notifies the client that another one uses its token.
    func shareSession() {
        guard !isClosing else { return }
        perform(session.share())
    }
}

extension Replay {
    /// The number of messages that do not exclude the client.
    fileprivate var sentCount: Int {
        former.reduce(messages.sentCount) { $0 + $1.messages.sentCount }
    }
}

extension [ReplayedMessage] {
    fileprivate var sentCount: Int {
        count { if case .envelope = $0 { true } else { false } }
    }
}
