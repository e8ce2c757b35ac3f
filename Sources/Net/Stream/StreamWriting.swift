import CLinux
import Glibc

// Bytes from the owner to the kernel.
extension Stream {
    /// Sends bytes together with all else that is queued: at the end of the turn or, when they are written while the
    /// owner is told of this stream, right after that.
    ///
    /// The buffer is referred to, not copied, unless it is a short one behind others. Before the stream is open the bytes
    /// wait; once it is closing they are dropped. Past ``StreamLimits/queuedBytesMax`` the owner is told.
    public func write(_ bytes: consuming [UInt8]) {
        guard !isClosing, !bytes.isEmpty else { return }
        if pendingOutput.isEmpty {
            pendingOutput = .buffer(consume bytes)
        } else {
            makeQueue().gather(bytes)
        }
        noteQueued()
    }

    /// Drops what is queued and not begun, so that last words reach a peer that does not read.
    ///
    /// A buffer of which the kernel has some bytes stays: the peer must get it whole. What is written from then on the
    /// kernel takes although the peer does not read, and keeps for it some minutes after the stream has been closed.
    public func discardQueue() {
        guard !pendingOutput.isEmpty else { return }
        let queue = makeQueue()
        queue.discard(promised: session?.promised ?? 0)
        if queue.isEmpty { releaseQueue() } else if lag != .none { updateLag() }
        guard flags.contains(.blocked) else { return }
        Socket.liftUnsentMax(on: fd)
        flags.remove(.blocked)
        reactor.flushLater(self)
    }

    /// Adds a buffer to which other streams refer too to the queue, from the byte `start` on.
    func enqueue(_ bytes: [UInt8], from start: Int) {
        if start == 0, pendingOutput.isEmpty {
            pendingOutput = .buffer(bytes)
        } else {
            makeQueue().append(bytes, from: start)
        }
        noteQueued()
    }

    /// Notes that something was queued: it leaves later in the turn, unless it is too much.
    private func noteQueued() {
        obstacles.insert(.queued)
        if queuedByteCount > queuedBytesMax {
            // The kernel may take what this turn has gathered.
            if phase == .open && !flags.contains(.blocked) { drain() }
            if queuedByteCount > queuedBytesMax && !flags.contains(.overflowed) {
                flags.insert(.overflowed)
                reactor.notify(self, .overflowed)
            }
        }
        if flags.contains(.blocked) { hold() } else { reactor.flushLater(self) }
    }

    /// Sends or queues one batch of a group.
    func deliver(_ bytes: [UInt8]) {
        guard !isClosing, !bytes.isEmpty else { return }
        if !obstacles.isDisjoint(with: [.queued, .shared, .notOpen, .detached]) {
            if !obstacles.contains(.detached) { enqueue(bytes, from: 0) }
        } else if let session {
            sendSecure(bytes, session)
        } else {
            let sent = Socket.send(fd, bytes)
            if sent != bytes.count { refused(bytes, sent: sent, code: errno) }
        }
    }

    /// Takes over what the kernel did not accept of a buffer of which nothing was queued.
    ///
    /// - Parameters:
    ///   - bytes: The buffer, to be referred to by the queue.
    ///   - sent: What send(2) returned.
    ///   - code: The `errno` that it left.
    @inline(never)
    func refused(_ bytes: [UInt8], sent: Int, code: Int32) {
        if sent < 0 {
            switch code {
            case EAGAIN: block()
            case EINTR, ENOBUFS: break
            default: return fail(.system(SystemError(call: "send", code: code)))
            }
        }
        flags.insert(.refused)
        enqueue(bytes, from: max(sent, 0))
    }

    /// Offers the queue to the kernel until it is empty or refused.
    ///
    /// Tells nobody anything at once: a group may be in the middle of its members.
    func drain() {
        guard !pendingOutput.isEmpty, flags.isDisjoint(with: [.blocked, .failed]) else { return }
        if let session { return drainSecure(session) }
        while !pendingOutput.isEmpty {
            // Until EAGAIN, not until a short write: only a refusal promises an event.
            guard offerPendingOutput() < 0 else { continue }
            let code = errno
            switch code {
            case EINTR: continue
            case EAGAIN:
                flags.insert(.refused)
                block()
                return hold()
            default: return fail(.system(SystemError(call: "sendmsg", code: code)))
            }
        }
        releaseQueue()
    }

    /// Notes that the kernel's buffer is full.
    func block() {
        flags.insert(.blocked)
        awaitRoom()
    }

    /// Has an event tell when the kernel takes bytes, at once if it does already.
    @inline(never)
    func awaitRoom() {
        guard !flags.contains(.awaitsRoom) else { return }
        flags.insert(.awaitsRoom)
        do throws(SystemError) { try reactor.update(self) } catch { fail(.system(error)) }
    }

    /// Notes that all is sent, or dropped.
    func releaseQueue() {
        clearPendingOutput()
        obstacles.remove(.queued)
        if lag != .none { updateLag() }
        // An owner that paused because of the queue waits for this, refused or not.
        if !flags.isDisjoint(with: [.refused, .paused]) {
            flags.remove(.refused)
            reactor.notify(self, .drained)
        }
    }

    /// Notes that the connection is lost; the owner is told later in the turn.
    func fail(_ error: StreamError) {
        guard !flags.contains(.failed) else { return }
        flags.insert(.failed)
        obstacles.insert(.notOpen)
        reactor.notify(self, .failed(error))
    }

    /// Sends what is queued, and goes on with closing when all is sent.
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
