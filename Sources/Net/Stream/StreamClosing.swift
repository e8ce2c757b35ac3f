import CLinux
import Glibc

// Opening and closing a stream.
extension Stream {
    /// Closes the stream gracefully.
    ///
    /// Sends the queue, the TLS `close_notify` and a FIN, and then waits for the peer's FIN. Closing the descriptor
    /// earlier may reset the connection and discard the last bytes. Bytes that arrive meanwhile are dropped.
    ///
    /// The stream leaves its groups at once, and their waiting frames are dropped. To send these first, leave the
    /// groups or call ``detachFromGroups()`` before the last `write`.
    ///
    /// - Parameters:
    ///   - limit: The longest time that this may take before the descriptor is closed anyway.
    ///   - peerIsDone: Whether the peer's protocol has ended its side. Then the stream does not wait for the peer's
    ///     FIN, because nothing can arrive that would make the kernel reset the connection. With TLS it waits, because
    ///     the peer's `close_notify` is still to come.
    public func close(within limit: Duration, peerIsDone: Bool = false) {
        guard phase == .open, !flags.contains(.failed) else {
            if phase == .connecting || phase == .handshaking { end(with: nil) }
            return
        }
        leaveAllGroups()
        phase = .draining
        obstacles.insert(.notOpen)
        unread = []
        flags.remove([.paused, .redelivers])
        if session == nil {
            if peerIsDone { flags.insert(.ended) }
            if flags.contains(.ended), endsAtOnce() { return }
        }
        setDeadline(after: limit)
        // Input that arrived while reading was paused causes no second event.
        flags.insert(.readable)
        reactor.serveLater(self)
        reactor.flushLater(self)
    }

    /// Closes the descriptor and returns true if the kernel accepts the whole queue and nothing else is to be waited
    /// for.
    private func endsAtOnce() -> Bool {
        drain()
        guard pendingOutput.isEmpty, !flags.contains(.failed) else { return false }
        end(with: nil)
        return true
    }

    /// Closes the descriptor at once; queued bytes are lost.
    public func abort() { end(with: nil) }

    /// Called when the queue is sent: sends `close_notify` and the FIN.
    func finish() {
        if let session, !sendCloseNotify(session) { return }
        guard !flags.contains(.ended) else { return end(with: nil) }
        phase = .finishing
        if shutdown(fd, Int32(SHUT_WR)) != 0 { end(with: nil) }
    }

    /// Ends the stream; the delegate is notified at the end of the turn.
    func end(with error: StreamError?) {
        guard phase != .closed else { return }
        phase = .closed
        obstacles.insert(.notOpen)
        // With more groups the delegate may detach the stream in `streamClosed`.
        if memberships.count <= Self.immediateLeaveCountMax { leaveAllGroups() }
        clearDeadline()
        unread = []
        clearPendingOutput()
        session = nil
        reactor.unregister(self, error)
        // Closing the descriptor removes it from the epoll set.
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

    /// Called when connect(2) has succeeded or failed.
    func finishConnecting() {
        let code = Socket.takeError(of: fd)
        guard code == 0 else {
            return end(with: .system(SystemError(call: "connect", code: code)))
        }
        if let session {
            phase = .handshaking
            continueHandshake(session)
        } else {
            open()
        }
    }

    /// Opens the stream for reading and writing.
    func open() {
        clearDeadline()
        phase = .open
        obstacles.remove(.notOpen)
        if !pendingOutput.isEmpty { reactor.flushLater(self) }
        currentDelegate.streamOpened(self)
        // Bytes may have come with the same event.
        if flags.contains(.readable) && phase == .open { reactor.serveLater(self) }
    }
}
