public import Net
import RESP

// Replies and pushes: from Redis to the owner, in their order.
extension RedisConnection: StreamDelegate, TimerTarget {
    /// Sends the handshake.
    public func streamOpened(_ stream: Stream) {
        phase = .handshake(Handshake(settings))
        stream.write(Handshake.commands(settings))
    }

    /// Passes on the complete values.
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

    private func receive(_ value: borrowing RESPView) {
        switch phase {
        case .open: value.kind == .push ? receive(push: value) : receive(reply: value)
        case .handshake(let handshake):
            if value.kind != .push { receive(value, to: handshake) }
        case .connecting, .closed: fail(.unexpectedReply)
        }
    }

    private func receive(_ reply: borrowing RESPView, to handshake: consuming Handshake) {
        do throws(RedisFault) {
            guard let server = try handshake.receive(reply) else {
                phase = .handshake(handshake)
                return
            }
            phase = .open
            cancelTimer()
            delegate?.opened(self, server: server)
        } catch {
            fail(error)
        }
    }

    private func receive(reply: borrowing RESPView) {
        guard let answer = unanswered.first?.answer else { return fail(.unexpectedReply) }
        let error = RedisError(reply)
        if let error, error.endsConnection { return fail(.refused(error)) }
        switch answer {
        case .reply: delegate?.received(reply, to: takeAnswered(), on: self)
        case .confirmations:
            guard error != nil else { return fail(.unexpectedReply) }
            delegate?.received(reply, to: takeAnswered(), on: self)
        case .pong:
            if error != nil {
                // The call is answered by the following pushes.
                delegate?.received(reply, to: unanswered.firstID, on: self)
            } else if reply.equals("PONG") {
                _ = takeAnswered()
            } else {
                fail(.unexpectedReply)
            }
        }
    }

    private func receive(push: borrowing RESPView) {
        // Before the delegate, which may call.
        let command = SubscriptionCommand.allCases.first { push[0].equals($0.name) }
        if let command, unanswered.confirm(command) { _ = takeAnswered() }
        delegate?.received(push: push, on: self)
    }

    /// Removes the oldest call, which is answered.
    private func takeAnswered() -> CallID {
        if let call = unanswered.first {
            lastRoundTrip = call.sentAt.duration(to: reactor.timerTime)
        }
        return unanswered.removeFirst()
    }

    // MARK: The end

    /// Ends the connection; unanswered calls stay unanswered.
    public func streamReachedEnd(_ stream: Stream) { fail(.closedByServer) }

    /// A server that ends the connection may have answered, so its data is read first.
    public func readsAfterFailedWrite(_ stream: Stream) -> Bool { fault == nil }

    /// Tries the next address, or notifies the delegate.
    public func streamClosed(_ stream: Stream, error: StreamError?) {
        if case .connecting = phase, tryNextAddress(after: error) { return }
        end(fault ?? error.map { .stream($0) } ?? .closedByServer)
    }

    /// Ends the connection if it was not opened, or a call was not answered, in time.
    public func timerFired(tag: Int) {
        switch Alarm(rawValue: tag) {
        case .lookup: continueLookup()
        case .end: if let fault { end(fault) }
        case .deadline, nil:
            timer = nil
            if isOpen { checkOldestCall() } else { fail(.openTimedOut(settings.openTimeout)) }
        }
    }

    private func checkOldestCall() {
        guard let call = unanswered.first else { return }
        let age = call.sentAt.duration(to: reactor.timerTime)
        guard age < settings.answerTimeout else {
            return fail(.answerTimedOut(settings.answerTimeout))
        }
        awaitAnswer(for: settings.answerTimeout - age)
    }
}
