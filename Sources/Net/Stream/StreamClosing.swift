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
        if tls == nil {
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
        if let tls, !sendCloseNotify(tls) { return }
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
        tls = nil
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
        if let tls {
            phase = .handshaking
            continueHandshake(tls)
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

    // MARK: Leaving groups, of which there may be thousands

    /// The maximum number of groups that a stream leaves at once when it ends.
    ///
    /// It leaves more only after `streamClosed`, in which its delegate may detach it.
    static var immediateLeaveCountMax: Int { 32 }

    /// Writes the frames that wait in the stream's groups; later frames of the groups are dropped.
    ///
    /// For a delegate that closes a stream with thousands of groups, which take milliseconds to leave. The stream
    /// remains a member of each, even after its end, until the delegate calls ``StreamGroup/leave(_:)``, some at a
    /// time. Can be called as late as in ``StreamDelegate/streamClosed(_:error:)``.
    public func detachFromGroups() {
        guard !obstacles.contains(.detached) else { return }
        if !isClosing {
            // Only these have frames that the stream has not got.
            for group in reactor.dirtyGroups where memberships.contains(group) { group.leave(self) }
            for group in Array(reactor.delayedGroups.values) where memberships.contains(group) {
                group.leave(self)
            }
        }
        obstacles.insert(.detached)
    }

    /// Leaves all groups, dropping the frames that wait in them; does nothing for a detached stream.
    func leaveAllGroups() {
        guard !obstacles.contains(.detached) else { return }
        let all = exchange(&memberships, with: .none)
        obstacles.remove(.shared)
        all.forEach { $0.group.removeMember($0) }
    }
}
