import CLinux
import Glibc

// Reading: bytes from the kernel to the delegate.
extension Stream {
    /// The maximum number of reads of a stream in one turn, so that a busy one does not starve the others.
    static var readCountMax: Int { 4 }

    /// The epoll interest (epoll_ctl(2)).
    var interest: UInt32 {
        let always = EPOLLIN.rawValue | EPOLLRDHUP.rawValue
        return flags.contains(.watchesWritable) ? always | EPOLLOUT.rawValue : always
    }

    /// Records the epoll event bits.
    func record(_ events: UInt32) {
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue) != 0 {
            flags.insert(.readable)
        }
        if events & EPOLLOUT.rawValue != 0 { flags.insert(.writable) }
        if events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue) != 0 { flags.insert(.hungUp) }
        if events & EPOLLERR.rawValue != 0 {
            flags.formUnion([.broken, .readable, .writable, .hungUp])
        }
    }

    /// Whether the events of this turn reported only that a blocked stream is writable.
    var isOnlyWritable: Bool {
        phase == .open && flags.isSuperset(of: [.writable, .blocked])
            && flags.isDisjoint(with: [.readable, .hungUp, .broken, .readsWhenWritable])
    }

    /// Handles the recorded events, and sends what the delegate writes meanwhile.
    func serve() {
        flags.remove(.isReady)
        // Marked, so that writes are sent by the `flush()` below, while the socket is still in the processor's cache.
        flags.insert(.isDirty)
        defer { flush() }
        let isWritable = flags.contains(.writable)
        flags.remove(.writable)
        if flags.contains(.blocked)
            && (isWritable || flags.isSuperset(of: [.writesWhenReadable, .readable]))
        {
            flags.remove([.blocked, .writesWhenReadable])
            reactor.flushLater(self)
        }
        if isWritable && flags.contains(.readsWhenWritable) {
            flags.remove(.readsWhenWritable)
            flags.insert(.readable)
        }
        switch phase {
        case .connecting: if isWritable || flags.contains(.broken) { finishConnecting() }
        case .handshaking:
            guard let tls else { break }
            if reactor.takeHandshakeStep() {
                continueHandshake(tls)
            } else {
                reactor.serveLater(self)
            }
        case .open: serveOpen()
        case .draining, .finishing: discardInput()
        case .closed: break
        }
    }

    private func serveOpen() {
        guard !flags.contains(.failed) else { return }
        if flags.contains(.paused) || flags.contains(.ended) {
            // No read would find the error.
            if flags.contains(.broken) { end(with: .system(brokenError())) }
            return
        }
        if flags.contains(.redelivers) {
            flags.remove(.redelivers)
            deliverUnread([])
        }
        guard mayRead, flags.contains(.readable) else { return }
        if flags.contains(.hungUp), !reactor.takeEnding() {
            return reactor.serveLater(self)
        }
        if let tls { readSecure(tls) } else { readPlain() }
    }

    var mayRead: Bool {
        phase == .open && flags.isDisjoint(with: [.paused, .ended, .failed, .redelivers])
    }

    /// Reads until the kernel has no more bytes, or the stream's share of the turn is used up.
    private func readPlain() {
        for number in 0..<Self.readCountMax {
            if number > 0, reactor.isTurnLong { break }
            let buffer = reactor.receiveBuffer(after: unread.count)
            let count = recv(fd, buffer.baseAddress, buffer.count, 0)
            if count > 0 {
                receive(count, in: buffer)
                guard mayRead else { return }
                // A short read means that later bytes make an event of their own, except for an end that came together
                // with these bytes.
                if count < buffer.count && !flags.contains(.hungUp) {
                    flags.remove(.readable)
                    return
                }
            } else if count == 0 {
                return reachEnd()
            } else {
                switch errno {
                case EAGAIN: return _ = flags.remove(.readable)
                case EINTR: continue
                case let code: return end(with: .system(SystemError(call: "recv", code: code)))
                }
            }
        }
        reactor.serveLater(self)
    }

    /// Delivers what the peer sent before a write failed; nothing more can be written.
    func readLast() {
        guard phase == .open, flags.isDisjoint(with: [.paused, .ended]) else { return }
        for _ in 0..<Self.readCountMax {
            let buffer = reactor.receiveBuffer(after: unread.count)
            let count: Int
            if let tls {
                guard case .done(let length) = tls.read(into: buffer) else { return }
                count = length
            } else {
                count = recv(fd, buffer.baseAddress, buffer.count, 0)
            }
            guard count > 0 else { return }
            receive(count, in: buffer)
            guard phase == .open else { return }
        }
    }

    /// Delivers `count` bytes that were read into `buffer`, after the kept ones.
    func receive(_ count: Int, in buffer: UnsafeMutableBufferPointer<UInt8>) {
        guard let base = buffer.baseAddress else { return }
        if unread.isEmpty {
            let consumed = deliver(base, count)
            if consumed < count { keep(base + consumed, count - consumed) }
        } else if let front = reactor.front(of: buffer, byteCount: unread.count) {
            // The kept bytes fit in front of the received ones.
            let total = unread.count + count
            _ = UnsafeMutableBufferPointer(start: front, count: unread.count).update(from: unread)
            unread = []
            let consumed = deliver(front, total)
            if consumed < total { keep(front + consumed, total - consumed) }
        } else {
            deliverUnread(UnsafeBufferPointer(start: base, count: count))
        }
    }

    /// Delivers the kept bytes followed by `more`, from an array.
    private func deliverUnread(_ more: some Collection<UInt8>) {
        // Moved out: the delegate may close the stream, which clears `unread`.
        var kept = unread
        unread = []
        kept.append(contentsOf: more)
        guard !kept.isEmpty else { return }
        let consumed = kept.withUnsafeMutableBufferPointer { bytes in
            bytes.baseAddress.map { deliver($0, bytes.count) } ?? 0
        }
        guard consumed < kept.count, phase == .open else { return }
        kept.removeFirst(consumed)
        unread = kept
    }

    private func keep(_ base: UnsafeMutablePointer<UInt8>, _ count: Int) {
        guard phase == .open else { return }
        unread = Array(UnsafeBufferPointer(start: base, count: count))
    }

    /// Passes bytes to the delegate; if it sets a new delegate, passes the rest to that one.
    private func deliver(_ base: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
        var consumed = 0
        while consumed < count {
            let delegate = currentDelegate
            let rest = UnsafeMutableBufferPointer(start: base + consumed, count: count - consumed)
            // SAFETY: the reactor's buffer, or the array moved out in `deliverUnread`, outlives the
            // call, and nothing else writes to it meanwhile: `poll` does not nest.
            var span = rest.mutableSpan
            let taken = delegate.stream(self, received: &span)
            precondition(
                taken >= 0 && taken <= rest.count,
                "a delegate consumed more than it was passed"
            )
            consumed += taken
            let isSucceeded = delegate !== currentDelegate
            guard isSucceeded, mayRead else { break }
        }
        return consumed
    }

    /// Records the peer's end and notifies the delegate.
    func reachEnd() {
        flags.insert(.ended)
        flags.remove(.readable)
        unread = []
        currentDelegate.streamReachedEnd(self)
    }

    /// Reads and drops bytes.
    ///
    /// Closing a descriptor with unread bytes resets the connection, and the reset may discard the last bytes sent to
    /// the peer.
    private func discardInput() {
        guard flags.contains(.readable), !flags.contains(.ended) else { return }
        let buffer = reactor.receiveBuffer(after: 0)
        for _ in 0..<Self.readCountMax {
            let count = recv(fd, buffer.baseAddress, buffer.count, 0)
            if count > 0 || (count < 0 && errno == EINTR) { continue }
            if count < 0 && errno == EAGAIN { return _ = flags.remove(.readable) }
            // The end, or a reset, after which there is nothing to wait for either.
            flags.insert(.ended)
            if phase == .finishing { end(with: nil) }
            return
        }
        reactor.serveLater(self)
    }

    /// Returns the socket's pending error; ECONNRESET if an error event comes without one.
    func brokenError() -> SystemError {
        let code = Socket.takeError(of: fd)
        return SystemError(call: "epoll_wait", code: code == 0 ? ECONNRESET : code)
    }
}
