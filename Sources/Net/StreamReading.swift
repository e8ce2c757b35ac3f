import CLinux
import Glibc

// Bytes from the kernel to the owner.
extension Stream {
    /// How many times a stream reads in one turn, so that a busy one does not starve the others.
    static var readCountMax: Int { 4 }
    /// How long a turn may last, in nanoseconds, before each stream reads but once in it: what fits into one read can be
    /// thousands of small messages.
    private static var longTurn: Int64 { 1_000_000 }

    /// Whether others have waited for long, so that whoever could read on does so in the next turn.
    var isTurnLong: Bool {
        reactor.readClock().nanoseconds - reactor.now.nanoseconds > Self.longTurn
    }

    /// What events are to tell, in the words of epoll_ctl(2).
    var interest: UInt32 {
        let always = EPOLLIN.rawValue | EPOLLRDHUP.rawValue
        return flags.contains(.awaitsRoom) ? always | EPOLLOUT.rawValue : always
    }

    /// Notes what an event says, in the words of epoll_ctl(2).
    func note(_ events: UInt32) {
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue) != 0 {
            flags.insert(.readable)
        }
        if events & EPOLLOUT.rawValue != 0 { flags.insert(.writable) }
        if events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue) != 0 { flags.insert(.hungUp) }
        if events & EPOLLERR.rawValue != 0 {
            flags.formUnion([.broken, .readable, .writable, .hungUp])
        }
    }

    /// Whether room for its queue is all that the events of this turn said.
    var hasOnlyRoom: Bool {
        phase == .open && flags.isSuperset(of: [.writable, .blocked])
            && flags.isDisjoint(with: [.readable, .hungUp, .broken, .readsWhenWritable])
    }

    /// Deals with what the events of this turn said, and sends what the owner wrote meanwhile.
    func serve() {
        flags.remove(.isReady)
        // Whatever it says is sent below, while the kernel's part of it is still in the processor's cache.
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
            guard let session else { break }
            if reactor.takeHandshake() { shakeHands(session) } else { reactor.serve(self) }
        case .open: serveOpen()
        case .draining, .finishing: discardInput()
        case .closed: break
        }
    }

    private func serveOpen() {
        guard !flags.contains(.failed) else { return }
        if flags.contains(.paused) || flags.contains(.ended) {
            // Nobody reads, so nobody would find the error.
            if flags.contains(.broken) { end(with: .system(brokenError())) }
            return
        }
        if flags.contains(.lendsAgain) {
            flags.remove(.lendsAgain)
            lendKept([])
        }
        guard mayRead, flags.contains(.readable) else { return }
        if let session { readSecure(session) } else { readPlain() }
    }

    var mayRead: Bool {
        phase == .open && flags.isDisjoint(with: [.paused, .ended, .failed, .lendsAgain])
    }

    /// Reads until the kernel has no more, or the turn's share is used up.
    private func readPlain() {
        for number in 0..<Self.readCountMax {
            if number > 0, isTurnLong { break }
            let room = reactor.room(behind: unread.count)
            let count = recv(fd, room.baseAddress, room.count, 0)
            if count > 0 {
                take(count, at: room)
                guard mayRead else { return }
                // Less than asked for means that the rest will come with an event of its own,
                // except for an end that came together with these bytes.
                if count < room.count && !flags.contains(.hungUp) {
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
        reactor.serve(self)
    }

    /// Lends what the peer sent before a write failed; the owner can write no more.
    func readLast() {
        guard phase == .open, flags.isDisjoint(with: [.paused, .ended]) else { return }
        for _ in 0..<Self.readCountMax {
            let room = reactor.room(behind: unread.count)
            let count: Int
            if let session {
                guard case .done(let length) = session.read(into: room) else { return }
                count = length
            } else {
                count = recv(fd, room.baseAddress, room.count, 0)
            }
            guard count > 0 else { return }
            take(count, at: room)
            guard phase == .open else { return }
        }
    }

    /// Lends `count` bytes that were read into `room`, behind what was kept.
    func take(_ count: Int, at room: UnsafeMutableBufferPointer<UInt8>) {
        guard let base = room.baseAddress else { return }
        if unread.isEmpty {
            let consumed = lend(base, count)
            if consumed < count { keep(base + consumed, count - consumed) }
        } else if let front = reactor.front(of: room, byteCount: unread.count) {
            // The kept bytes fit in front of the new ones.
            let total = unread.count + count
            _ = UnsafeMutableBufferPointer(start: front, count: unread.count).update(from: unread)
            unread = []
            let consumed = lend(front, total)
            if consumed < total { keep(front + consumed, total - consumed) }
        } else {
            lendKept(UnsafeBufferPointer(start: base, count: count))
        }
    }

    /// Lends what was kept, with `more` behind it, from memory of its own.
    private func lendKept(_ more: some Collection<UInt8>) {
        // Moved out: the owner may close the stream, which empties `unread`.
        var kept = unread
        unread = []
        kept.append(contentsOf: more)
        guard !kept.isEmpty else { return }
        let consumed = kept.withUnsafeMutableBufferPointer { bytes in
            bytes.baseAddress.map { lend($0, bytes.count) } ?? 0
        }
        guard consumed < kept.count, phase == .open else { return }
        kept.removeFirst(consumed)
        unread = kept
    }

    private func keep(_ base: UnsafeMutablePointer<UInt8>, _ count: Int) {
        guard phase == .open else { return }
        unread = Array(UnsafeBufferPointer(start: base, count: count))
    }

    /// Lends bytes to the owner, and what it leaves to the one that it put in its place.
    private func lend(_ base: UnsafeMutablePointer<UInt8>, _ count: Int) -> Int {
        var consumed = 0
        while consumed < count {
            let owner = currentOwner
            let rest = UnsafeMutableBufferPointer(start: base + consumed, count: count - consumed)
            // SAFETY: the reactor's buffer, or the array moved out in `lendKept`, outlives the
            // call, and nothing else writes to it meanwhile: `poll` does not nest.
            var span = rest.mutableSpan
            let taken = owner.stream(self, received: &span)
            precondition(
                taken >= 0 && taken <= rest.count,
                "an owner consumed what it was not lent"
            )
            consumed += taken
            let isSucceeded = owner !== currentOwner
            guard isSucceeded, mayRead else { break }
        }
        return consumed
    }

    /// The peer will send no more.
    func reachEnd() {
        flags.insert(.ended)
        flags.remove(.readable)
        unread = []
        currentOwner.streamReachedEnd(self)
    }

    /// Reads and drops: a descriptor closed with bytes unread resets the connection, and the reset
    /// takes from the peer what we sent last.
    private func discardInput() {
        guard flags.contains(.readable), !flags.contains(.ended) else { return }
        let room = reactor.room(behind: 0)
        for _ in 0..<Self.readCountMax {
            let count = recv(fd, room.baseAddress, room.count, 0)
            if count > 0 || (count < 0 && errno == EINTR) { continue }
            if count < 0 && errno == EAGAIN { return _ = flags.remove(.readable) }
            // The end, or a reset, which also means that nobody waits for anything.
            flags.insert(.ended)
            if phase == .finishing { end(with: nil) }
            return
        }
        reactor.serve(self)
    }

    /// What the socket kept for us; an event without an error is a reset.
    func brokenError() -> SystemError {
        let code = Socket.takeError(of: fd)
        return SystemError(call: "epoll_wait", code: code == 0 ? ECONNRESET : code)
    }
}
