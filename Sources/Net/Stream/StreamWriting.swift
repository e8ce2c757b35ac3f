import CLinux
import Glibc

// Writing: bytes from the delegate to the kernel.
extension Stream {
    /// Queues bytes.
    ///
    /// They are sent after everything queued before: at the end of the turn or, if the stream is being served, right
    /// after that.
    ///
    /// The buffer is referenced, not copied, unless it is short and follows others. Before the stream is open the bytes
    /// wait; once it is closing they are dropped. Past ``StreamLimits/queuedBytesMax`` the delegate is notified.
    public func write(_ bytes: consuming [UInt8]) {
        guard !isClosing, !bytes.isEmpty else { return }
        if pendingOutput.isEmpty {
            pendingOutput = .buffer(consume bytes)
        } else {
            makeQueue().gather(bytes)
        }
        didQueue()
    }

    /// Drops the queue, so that a last message reaches a peer that does not read.
    ///
    /// A buffer of which the kernel has accepted a part stays, because the peer must get it whole. The kernel accepts
    /// bytes written afterwards although the peer does not read, and keeps them for some minutes after the stream is
    /// closed.
    public func discardQueue() {
        guard !pendingOutput.isEmpty else { return }
        let queue = makeQueue()
        queue.discard(keeping: session?.retryLength ?? 0)
        if queue.isEmpty { queueEmptied() } else if lag != .none { updateLag() }
        guard flags.contains(.blocked) else { return }
        Socket.liftUnsentMax(on: fd)
        flags.remove(.blocked)
        reactor.flushLater(self)
    }

    /// Queues a buffer that is shared with other streams, from byte `start` on.
    func enqueue(_ bytes: [UInt8], from start: Int) {
        if start == 0, pendingOutput.isEmpty {
            pendingOutput = .buffer(bytes)
        } else {
            makeQueue().append(bytes, from: start)
        }
        didQueue()
    }

    /// Called when bytes were queued: schedules a flush, or the overflow event if the queue is too long.
    private func didQueue() {
        obstacles.insert(.queued)
        if queuedByteCount > queuedBytesMax {
            // The kernel may accept what was queued in this turn.
            if phase == .open && !flags.contains(.blocked) { drain() }
            if queuedByteCount > queuedBytesMax && !flags.contains(.overflowed) {
                flags.insert(.overflowed)
                reactor.notifyLater(self, .overflowed)
            }
        }
        if flags.contains(.blocked) { hold() } else { reactor.flushLater(self) }
    }

    /// Sends a batch of a group, or queues it behind earlier bytes.
    func sendOrQueue(_ bytes: [UInt8]) {
        guard !isClosing, !bytes.isEmpty else { return }
        if !obstacles.isDisjoint(with: [.queued, .shared, .notOpen, .detached]) {
            if !obstacles.contains(.detached) { enqueue(bytes, from: 0) }
        } else if let session {
            sendSecure(bytes, session)
        } else {
            let sent = Socket.send(fd, bytes)
            if sent != bytes.count { queueUnsent(bytes, sent: sent, code: errno) }
        }
    }

    /// Queues the part of a buffer that the kernel did not accept.
    ///
    /// The queue references the buffer. `sent` is the result of send(2), and `code` the `errno` after it.
    @inline(never)
    func queueUnsent(_ bytes: [UInt8], sent: Int, code: Int32) {
        if sent < 0 {
            switch code {
            case EAGAIN: markBlocked()
            case EINTR, ENOBUFS: break
            default: return fail(.system(SystemError(call: "send", code: code)))
            }
        }
        flags.insert(.refused)
        enqueue(bytes, from: max(sent, 0))
    }

    /// Sends the queue until it is empty or the kernel refuses bytes.
    ///
    /// Calls no delegate, because a fan-out pass may be under way.
    func drain() {
        guard !pendingOutput.isEmpty, flags.isDisjoint(with: [.blocked, .failed]) else { return }
        if let session { return drainSecure(session) }
        while !pendingOutput.isEmpty {
            // Until EAGAIN, not until a short write: only EAGAIN guarantees an event.
            guard offerPendingOutput() < 0 else { continue }
            let code = errno
            switch code {
            case EINTR: continue
            case EAGAIN:
                flags.insert(.refused)
                markBlocked()
                return hold()
            default: return fail(.system(SystemError(call: "sendmsg", code: code)))
            }
        }
        queueEmptied()
    }

    /// Records that the kernel's send buffer is full.
    func markBlocked() {
        flags.insert(.blocked)
        watchWritable()
    }

    /// Adds EPOLLOUT to the epoll interest; the event comes at once if the socket is writable already.
    @inline(never)
    func watchWritable() {
        guard !flags.contains(.watchesWritable) else { return }
        flags.insert(.watchesWritable)
        do throws(SystemError) { try reactor.update(self) } catch { fail(.system(error)) }
    }

    /// Called when the queue has been sent or dropped.
    func queueEmptied() {
        clearPendingOutput()
        obstacles.remove(.queued)
        if lag != .none { updateLag() }
        // A delegate that paused reading because of the queue waits for this, even if nothing was refused.
        if !flags.isDisjoint(with: [.refused, .paused]) {
            flags.remove(.refused)
            reactor.notifyLater(self, .drained)
        }
    }

    /// Records that the connection is lost; the delegate is notified later in the turn.
    func fail(_ error: StreamError) {
        guard !flags.contains(.failed) else { return }
        flags.insert(.failed)
        obstacles.insert(.notOpen)
        reactor.notifyLater(self, .failed(error))
    }

    /// Sends the queue; if the stream is closing, continues closing once everything is sent.
    func flush() {
        flags.remove(.isDirty)
        switch phase {
        case .connecting, .handshaking, .finishing, .closed: break
        case .open: drain()
        case .draining:
            drain()
            if pendingOutput.isEmpty && flags.isDisjoint(with: [.failed, .blocked]) { finish() }
        }
    }
}
