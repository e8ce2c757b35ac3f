public import Net
public import RESP

/// A connection to a Redis server, by RESP3: calls in a pipeline, and published messages between their replies.
///
/// Confined to its reactor's thread. Replies and pushes are passed on in the order in which Redis has sent them, so what
/// was published before a call was executed arrives before its reply. A connection is opened once; after its end the
/// delegate makes another, for example with ``ReconnectBackoff``.
///
/// Nothing is kept for a connection that is not open, and the bytes of unanswered calls are bounded. It ends as soon as
/// a call has waited for ``RedisSettings/answerTimeout``, so a delegate that calls regularly notices a lost server.
public final class RedisConnection {
    /// The settings.
    public let settings: RedisSettings
    /// The time between the last answered call and its answer; nil before the first.
    public private(set) var lastRoundTrip: Duration?

    private let reactor: Reactor
    // Weak: it outlives its owner until the reactor has closed the stream.
    private weak var delegate: (any RedisConnectionDelegate)?
    private var stream: Stream?
    private var parser: RESPParser
    private var phase: Phase
    private var unanswered = UnansweredCalls()
    /// The reason of the end, once it is known.
    private var fault: RedisFault?
    /// The deadline of opening, or the time to look at the oldest call.
    private var timer: TimerID?

    private enum Phase {
        case connecting
        case greeting(Greeting)
        case open
        case closed
    }

    private init(
        _ settings: RedisSettings,
        on reactor: Reactor,
        delegate: any RedisConnectionDelegate
    ) {
        self.settings = settings
        self.reactor = reactor
        self.delegate = delegate
        parser = RESPParser(limits: settings.limits)
        phase = .connecting
    }

    // MARK: Opening and closing

    /// Connects to a server.
    ///
    /// - Parameters:
    ///   - address: The server's address.
    ///   - tls: The encryption and the host to verify; nil for none.
    ///   - settings: The settings.
    ///   - reactor: The reactor of the loop.
    ///   - delegate: Not retained. Its `opened` or `closed` is called with the result, never from inside this call.
    /// - Returns: The connection, not open yet.
    /// - Throws: A call that failed before anything was sent, for example for lack of descriptors.
    public static func connect(
        to address: SocketAddress,
        tls: (TLSContext, serverName: String)? = nil,
        settings: RedisSettings,
        on reactor: Reactor,
        delegate: any RedisConnectionDelegate
    ) throws(SystemError) -> RedisConnection {
        let connection = RedisConnection(settings, on: reactor, delegate: delegate)
        connection.stream = try reactor.connect(
            to: address,
            tls: tls,
            timeout: settings.openTimeout,
            limits: connection.streamLimits,
            delegate: connection
        )
        connection.awaitOpening()
        return connection
    }

    /// Uses a socket that is connected already, for example one end of a socketpair(2).
    ///
    /// - Parameters:
    ///   - descriptor: The socket; it is made non-blocking.
    ///   - settings: The settings.
    ///   - reactor: The reactor of the loop.
    ///   - delegate: Not retained. Its methods are not called from inside this call.
    /// - Returns: The connection, not open yet.
    /// - Throws: The call that failed.
    public static func adopt(
        _ descriptor: consuming FileDescriptor,
        settings: RedisSettings,
        on reactor: Reactor,
        delegate: any RedisConnectionDelegate
    ) throws(SystemError) -> RedisConnection {
        let connection = RedisConnection(settings, on: reactor, delegate: delegate)
        connection.stream = try reactor.adopt(
            descriptor,
            limits: connection.streamLimits,
            delegate: connection
        )
        connection.awaitOpening()
        return connection
    }

    /// Whether calls are possible.
    public var isOpen: Bool { if case .open = phase { fault == nil } else { false } }

    /// The bytes of the calls that wait for their answers.
    public var unansweredBytes: Int { unanswered.byteCount }

    /// Ends the connection at once; the delegate's `closed` follows at the end of the turn.
    public func close() { fail(.closedByOwner) }

    /// The queue is bounded by the unanswered calls; the greeting comes before them.
    private var streamLimits: StreamLimits {
        StreamLimits(
            queuedBytesMax: settings.unansweredBytesMax + Greeting.commands(settings).count,
            handshakeTimeout: settings.openTimeout
        )
    }

    private func awaitOpening() {
        timer = reactor.schedule(after: settings.openTimeout, self)
    }

    private func fail(_ fault: RedisFault) {
        guard self.fault == nil else { return }
        self.fault = fault
        stream?.abort()
    }

    // MARK: Calls

    /// Sends a command.
    ///
    /// It is sent with everything else that is written in this turn.
    ///
    /// - Parameters:
    ///   - argumentCount: The number of arguments, the command's name included.
    ///   - write: Writes them.
    /// - Returns: The call, which the reply refers to.
    /// - Throws: The reason why nothing was sent.
    @discardableResult
    public func call(
        argumentCount: Int,
        _ write: (inout RESPWriter) -> Void
    ) throws(RedisCallError) -> CallID {
        var writer = RESPWriter()
        writer.begin(argumentCount: argumentCount)
        write(&writer)
        return try send(writer, answer: .reply)
    }

    /// Sends a command with arguments in UTF-8.
    @discardableResult
    public func call(_ arguments: String...) throws(RedisCallError) -> CallID {
        try call(argumentCount: arguments.count) { writer in
            for argument in arguments { writer.argument(argument) }
        }
    }

    /// Calls a script of ``RedisSettings/scripts``.
    ///
    /// - Parameters:
    ///   - script: The script.
    ///   - keyCount: The number of keys.
    ///   - argumentCount: The number of further arguments.
    ///   - write: Writes the keys, then the arguments.
    /// - Returns: The call, which the reply refers to.
    /// - Throws: The reason why nothing was sent.
    @discardableResult
    public func evaluate(
        _ script: RedisScript,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RESPWriter) -> Void
    ) throws(RedisCallError) -> CallID {
        try call(argumentCount: 3 + keyCount + argumentCount) { writer in
            writer.argument(literal: "EVALSHA")
            writer.argument(script.digest)
            writer.argument(keyCount)
            write(&writer)
        }
    }

    /// Calls a script of ``RedisSettings/scripts`` with keys and arguments in UTF-8.
    @discardableResult
    public func evaluate(
        _ script: RedisScript,
        keys: [String],
        _ arguments: [String]
    ) throws(RedisCallError) -> CallID {
        try evaluate(script, keyCount: keys.count, argumentCount: arguments.count) { writer in
            for argument in keys + arguments { writer.argument(argument) }
        }
    }

    /// Subscribes to channels; Redis answers with a push for each.
    ///
    /// - Parameters:
    ///   - channels: At least one.
    ///   - isSharded: Whether to use `SSUBSCRIBE`: all channels must belong to one slot of a Redis Cluster.
    /// - Returns: The call, which an error refers to.
    /// - Throws: The reason why nothing was sent.
    @discardableResult
    public func subscribe(
        to channels: [String],
        isSharded: Bool = false
    ) throws(RedisCallError) -> CallID {
        try send(isSharded ? .ssubscribe : .subscribe, channels)
    }

    /// Ends subscriptions; Redis answers with a push for each.
    ///
    /// - Parameters:
    ///   - channels: At least one.
    ///   - isSharded: Whether they were made by `SSUBSCRIBE`.
    /// - Returns: The call, which an error refers to.
    /// - Throws: The reason why nothing was sent.
    @discardableResult
    public func unsubscribe(
        from channels: [String],
        isSharded: Bool = false
    ) throws(RedisCallError) -> CallID {
        try send(isSharded ? .sunsubscribe : .unsubscribe, channels)
    }

    private func send(
        _ command: SubscriptionCommand,
        _ channels: [String]
    ) throws(RedisCallError) -> CallID {
        precondition(!channels.isEmpty, "no channels")
        var writer = RESPWriter()
        writer.begin(argumentCount: 1 + channels.count)
        writer.argument(literal: command.name)
        for channel in channels { writer.argument(channel) }
        return try send(writer, answer: .confirmations(command, channels.count))
    }

    private func send(
        _ writer: consuming RESPWriter,
        answer: UnansweredCalls.Answer
    ) throws(RedisCallError) -> CallID {
        precondition(writer.isComplete, "the command lacks arguments")
        guard isOpen, let stream else { throw .notOpen }
        let length = writer.bytes.count
        let total = unanswered.byteCount + length
        guard total <= settings.unansweredBytesMax else {
            throw .tooManyBytes(count: total, limit: settings.unansweredBytesMax)
        }
        let sentAt = reactor.timerTime
        let id = unanswered.append(.init(answer: answer, length: length, sentAt: sentAt))
        stream.write(writer.bytes)
        if timer == nil { timer = reactor.schedule(after: settings.answerTimeout, self) }
        return id
    }

    // MARK: Replies

    private func receive(_ view: borrowing RESPView) {
        switch phase {
        case .open: view.kind == .push ? receive(push: view) : receive(reply: view)
        case .greeting(var greeting):
            guard view.kind != .push else { return }
            do throws(RedisFault) {
                let server = try greeting.receive(view)
                phase = server == nil ? .greeting(greeting) : .open
                guard let server else { return }
                cancelTimer()
                delegate?.opened(self, server: server)
            } catch {
                fail(error)
            }
        case .connecting, .closed: fail(.unexpectedReply)
        }
    }

    private func receive(reply: borrowing RESPView) {
        guard !unanswered.isEmpty else { return fail(.unexpectedReply) }
        if let error = RedisError(reply) {
            if error.endsConnection { return fail(.refused(error)) }
        } else if unanswered.first?.answer != .reply {
            return fail(.unexpectedReply)
        }
        delegate?.received(reply, to: answered(), on: self)
    }

    private func receive(push: borrowing RESPView) {
        // Before the delegate, which may call.
        let command = SubscriptionCommand.allCases.first { push[0].equals($0.name) }
        if let command, unanswered.confirm(command) { _ = answered() }
        delegate?.received(push: push, on: self)
    }

    private func answered() -> CallID {
        if let call = unanswered.first {
            lastRoundTrip = call.sentAt.duration(to: reactor.timerTime)
        }
        return unanswered.removeFirst()
    }

    private func cancelTimer() {
        if let timer = timer.take() { reactor.cancel(timer) }
    }
}

// MARK: - Stream and timer

extension RedisConnection: StreamDelegate, TimerTarget {
    /// Sends the greeting.
    public func streamOpened(_ stream: Stream) {
        phase = .greeting(Greeting(settings))
        stream.write(Greeting.commands(settings))
    }

    /// Passes on the values that are complete.
    public func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        let bytes = bytes.span
        var index = 0
        do throws(RESPError) {
            // The delegate may have closed the connection.
            while fault == nil, try parser.next(in: bytes, from: &index, { receive($0) }) {}
        } catch {
            fail(.malformed(error))
        }
        return index
    }

    /// Ends the connection: whatever is unanswered stays so.
    public func streamReachedEnd(_ stream: Stream) { fail(.closedByServer) }

    /// A server that ends may have answered: what it has sent is read first.
    public func readsAfterFailedWrite(_ stream: Stream) -> Bool { fault == nil }

    /// Notifies the delegate.
    public func streamClosed(_ stream: Stream, error: StreamError?) {
        phase = .closed
        cancelTimer()
        self.stream = nil
        let fault = fault ?? error.map { .stream($0) } ?? .closedByServer
        self.fault = fault
        delegate?.closed(self, fault, unanswered: unanswered.ids)
    }

    /// Ends the connection if it was not opened, or a call not answered, in time.
    public func timerFired(tag: Int) {
        timer = nil
        guard isOpen else { return fail(.openTimedOut(settings.openTimeout)) }
        guard let call = unanswered.first else { return }
        let age = call.sentAt.duration(to: reactor.timerTime)
        guard age < settings.answerTimeout else {
            return fail(.answerTimedOut(settings.answerTimeout))
        }
        timer = reactor.schedule(after: settings.answerTimeout - age, self)
    }
}
