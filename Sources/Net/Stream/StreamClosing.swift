import CLinux
import Glibc

// The end of a stream, and the beginning of one that connects.
extension Stream {
    /// Closes the stream in order: queue, end, the peer's end.
    ///
    /// Writes what is queued, sends the TLS `close_notify` and a FIN, and then waits for the peer's
    /// FIN, since a descriptor closed earlier may reset the connection and take back the last bytes.
    /// What arrives meanwhile is dropped. The stream leaves its groups at once, without what waits
    /// in them: leave them, or call ``detachFromGroups()``, before the last `write` if that is to come after it.
    ///
    /// - Parameters:
    ///   - limit: How long all this may take before the descriptor is closed anyway.
    ///   - peerIsDone: Whether the peer has said, in its own protocol, that it sends nothing more. Then its FIN is not
    ///     waited for: nothing can arrive that would make the kernel reset the connection. With TLS it is, for the
    ///     peer's `close_notify` is still to come.
    public func close(within limit: Duration, peerIsDone: Bool = false) {
        guard phase == .open, !flags.contains(.failed) else {
            if phase == .connecting || phase == .handshaking { end(with: nil) }
            return
        }
        leaveAllGroups()
        phase = .draining
        obstacles.insert(.notOpen)
        unread = []
        flags.remove([.paused, .lendsAgain])
        if session == nil {
            if peerIsDone { flags.insert(.ended) }
            if flags.contains(.ended), endsAtOnce() { return }
        }
        setDeadline(after: limit)
        // Input that came while reading was paused will make no second event.
        flags.insert(.readable)
        reactor.serve(self)
        reactor.flushLater(self)
    }

    /// Closes the descriptor if the kernel takes all that is queued: there is nothing else to wait for.
    private func endsAtOnce() -> Bool {
        drain()
        guard pendingOutput.isEmpty, !flags.contains(.failed) else { return false }
        end(with: nil)
        return true
    }

    /// Closes the descriptor at once; what is queued is lost.
    public func abort() { end(with: nil) }

    /// Everything queued is sent.
    func finish() {
        if let session, !farewell(session) { return }
        guard !flags.contains(.ended) else { return end(with: nil) }
        phase = .finishing
        if shutdown(fd, Int32(SHUT_WR)) != 0 { end(with: nil) }
    }

    /// Ends the stream; the owner is told at the end of the turn.
    func end(with error: StreamError?) {
        guard phase != .closed else { return }
        phase = .closed
        obstacles.insert(.notOpen)
        // Else the owner may detach it when it is told.
        if seats.count <= Self.seatCountLeftAtOnceMax { leaveAllGroups() }
        clearDeadline()
        unread = []
        clearPendingOutput()
        session = nil
        reactor.forget(self, error)
        // Closing the descriptor takes it out of the epoll set.
        descriptor = nil
    }

    // MARK: Deadlines

    func setDeadline(after limit: Duration) {
        clearDeadline()
        deadline = reactor.schedule(after: limit, .deadline(self))
    }

    func clearDeadline() {
        if let deadline = deadline.take() { reactor.cancel(deadline) }
    }

    func deadlinePassed() {
        deadline = nil
        switch phase {
        case .connecting: end(with: .connectTimedOut)
        case .handshaking: end(with: .handshakeTimedOut)
        case .draining, .finishing: end(with: .closeTimedOut)
        case .open, .closed: break
        }
    }

    // MARK: Opening

    /// The kernel has decided about connect(2).
    func finishConnecting() {
        let code = Socket.takeError(of: fd)
        guard code == 0 else {
            return end(with: .system(SystemError(call: "connect", code: code)))
        }
        if let session {
            phase = .handshaking
            shakeHands(session)
        } else {
            open()
        }
    }

    /// From here on bytes flow.
    func open() {
        clearDeadline()
        phase = .open
        obstacles.remove(.notOpen)
        if !pendingOutput.isEmpty { reactor.flushLater(self) }
        currentOwner.streamOpened(self)
        // They may have come with the same event.
        if flags.contains(.readable) && phase == .open { reactor.serve(self) }
    }
}
