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
        queue.discard(keeping: tls?.retryLength ?? 0)
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
        if isParked, !obstacles.contains(.queued) {
            reactor.notifyLater(self, .relayed(.waiting))
        }
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
        if !obstacles.isDisjoint(with: [.queued, .shared, .notOpen, .detached, .relayed]) {
            if !obstacles.contains(.detached) { enqueue(bytes, from: 0) }
        } else if let tls {
            sendSecure(bytes, tls)
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
        if obstacles.contains(.relayed) { return drainRelayed() }
        if let tls { return drainSecure(tls) }
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

    // MARK: The unsent bytes

    /// Returns the queue; makes it and moves the single buffer there if needed.
    func makeQueue() -> OutputQueue {
        if case .queue(let queue) = pendingOutput { return queue }
        let queue = reactor.takeQueue()
        if case .buffer(let bytes) = pendingOutput { queue.append(bytes) }
        pendingOutput = .queue(queue)
        return queue
    }

    /// Calls `body` with each queued buffer of which the kernel has accepted nothing, in order, until it returns false.
    public func forEachUnsentBuffer(_ body: ([UInt8]) -> Bool) {
        switch pendingOutput {
        case .nothing: break
        case .buffer(let bytes): _ = body(bytes)
        case .queue(let queue): queue.forEachUnsentBuffer(body)
        }
    }

    /// Drops the unsent bytes.
    func clearPendingOutput() {
        if case .queue(let queue) = pendingOutput {
            queue.clear()
            reactor.recycle(queue)
        }
        pendingOutput = .nothing
    }

    /// The flags of the next send.
    ///
    /// While the stream closes, a FIN follows the last bytes.
    var sendFlags: Int32 {
        phase == .draining ? Socket.lastSendFlags : Socket.sendFlags
    }

    /// Sends as many of the unsent bytes as one system call takes, removes them and returns their number; negative as
    /// for sendmsg(2).
    func offerPendingOutput() -> Int {
        switch pendingOutput {
        case .nothing: return 0
        case .queue(let queue): return queue.send(to: fd, flags: sendFlags)
        case .buffer: return offerBuffer()
        }
    }

    /// The same for a single buffer, which is moved out of the stream, because the kernel mostly accepts all of it.
    private func offerBuffer() -> Int {
        guard case .buffer(let bytes) = exchange(&pendingOutput, with: .nothing) else { return 0 }
        let sent = Socket.send(fd, bytes, flags: sendFlags)
        guard sent != bytes.count else { return sent }
        pendingOutput = .buffer(bytes)
        if sent > 0 { makeQueue().remove(sent) }
        return sent
    }

    // MARK: A peer that reads slowly

    /// Counts the queue in the ledger until it is empty.
    ///
    /// Called when the kernel's send buffer is full.
    @inline(never)
    func hold() {
        guard !pendingOutput.isEmpty else { return }
        let queue = makeQueue()
        if !queue.isCounted {
            queue.count(in: reactor.ledger, for: currentDelegate.memoryBudget(of: self))
        }
        updateLag()
    }

    /// Updates the lag from the queue's length, and notifies the groups of a change.
    ///
    /// Called when the kernel has refused bytes, and when it has accepted some again; never for a stream without a
    /// backlog.
    @inline(never)
    func updateLag() {
        var progress = Int.max
        if case .queue(let queue) = pendingOutput { progress = queue.progress }
        let new = lag.updated(
            queued: queuedByteCount,
            limit: Int(queuedBytesMax),
            isBlocked: flags.contains(.blocked),
            hasProgressed: progress >= ReaderLag.progressMin
        )
        setLag(new)
    }

    /// Marks the peer as stalled if it has read almost nothing since the last call.
    func checkProgress() {
        guard case .queue(let queue) = pendingOutput else { return }
        let progress = queue.takeProgress()
        if lag.isWaitedFor, progress < ReaderLag.progressMin { setLag(.stalled) }
    }

    private func setLag(_ new: ReaderLag) {
        let old = exchange(&lag, with: new)
        guard old != new else { return }
        memberships.forEach { $0.group.lagChanged(from: old, to: new) }
    }
}
