import Net
public import RESP

// Calls: commands from the owner to Redis.
extension RedisConnection {
    /// Whether calls are possible.
    public var isOpen: Bool { if case .open = phase { fault == nil } else { false } }

    /// The bytes of the calls that wait for their answers.
    public var unansweredBytes: Int { unanswered.byteCount }

    /// Sends a command, together with everything else that is written in this turn.
    ///
    /// - Parameters:
    ///   - argumentCount: The number of arguments, including the command's name.
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
        precondition(writer.isComplete, "the command lacks arguments")
        return try send(writer.bytes, answer: .reply)
    }

    /// Sends a command with arguments in UTF-8.
    @discardableResult
    public func call(_ arguments: String...) throws(RedisCallError) -> CallID {
        try call(arguments)
    }

    /// Sends a command with arguments in UTF-8.
    @discardableResult
    package func call(_ arguments: [String]) throws(RedisCallError) -> CallID {
        try call(argumentCount: arguments.count) { writer in
            for argument in arguments { writer.argument(argument) }
        }
    }

    /// Sends a call of a script of ``RedisSettings/scripts``; throws the reason why nothing was sent.
    @discardableResult
    public func send(_ call: ScriptCall) throws(RedisCallError) -> CallID {
        try send(call.bytes, answer: .reply)
    }

    /// Calls a script of ``RedisSettings/scripts`` with keys and arguments in UTF-8.
    @discardableResult
    public func evaluate(
        _ script: RedisScript,
        keys: [String],
        _ arguments: [String]
    ) throws(RedisCallError) -> CallID {
        try send(
            ScriptCall(script, keyCount: keys.count, argumentCount: arguments.count) { writer in
                for key in keys { writer.argument(key) }
                for argument in arguments { writer.argument(argument) }
            }
        )
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
        // Without channels, the command would end all subscriptions, with an unknown number of pushes.
        precondition(!channels.isEmpty, "no channels")
        var writer = RESPWriter()
        writer.begin(argumentCount: 1 + channels.count)
        writer.argument(literal: command.name)
        for channel in channels { writer.argument(channel) }
        guard command == .sunsubscribe else {
            return try send(writer.bytes, answer: .confirmations(command, channels.count))
        }
        writer.begin(argumentCount: 1)
        writer.argument(literal: "PING")
        return try send(writer.bytes, answer: .pong)
    }

    private func send(
        _ command: [UInt8],
        answer: UnansweredCalls.Answer
    ) throws(RedisCallError) -> CallID {
        guard isOpen, let stream else { throw .notOpen }
        let length = command.count
        let total = unanswered.byteCount + length
        guard total <= settings.unansweredBytesMax else {
            throw .tooManyBytes(count: total, limit: settings.unansweredBytesMax)
        }
        let sentAt = reactor.timerTime
        let id = unanswered.append(.init(answer: answer, length: length, sentAt: sentAt))
        stream.write(command)
        if timer == nil { awaitAnswer(for: settings.answerTimeout) }
        return id
    }

    func awaitAnswer(for time: Duration) {
        timer = reactor.schedule(after: time, self, tag: Alarm.deadline.rawValue)
    }
}
