import CLinux
import Glibc

// Streams that outlive their sockets, such as those of sessions over HTTP, whose bytes travel in one response after the
// other.

extension Reactor {
    /// Makes an open stream that is relayed by the sockets of other streams, and that is parked: it has none yet.
    ///
    /// What is written to a parked stream is queued, counted and limited as for a peer that does not read.
    ///
    /// - Parameters:
    ///   - limits: The stream's limits.
    ///   - isSecure: Whether the sockets will be encrypted.
    ///   - delegate: The stream's delegate; its `streamOpened` is not called.
    /// - Returns: The stream.
    /// - Throws: The call that failed for lack of descriptors.
    public func makeRelayedStream(
        limits: StreamLimits = .init(),
        isSecure: Bool = false,
        delegate: any StreamDelegate
    ) throws(SystemError) -> Stream {
        let stream = Stream(
            try parkingDescriptor(),
            generation: makeGeneration(),
            reactor: self,
            limits: limits,
            delegate: delegate,
            phase: .open
        )
        stream.obstacles = isSecure ? [.relayed, .parked, .secure] : [.relayed, .parked]
        stream.flags.insert(.blocked)
        insert(stream)
        return stream
    }

    /// A descriptor that keeps a number while a stream is parked.
    fileprivate func parkingDescriptor() throws(SystemError) -> FileDescriptor {
        try FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC), from: "open")
    }
}

extension Stream {
    /// Whether this is a relayed stream without a socket.
    public var isParked: Bool { obstacles.contains(.parked) }

    /// Continues a parked stream on the socket of another stream, which ends; what is queued is sent.
    ///
    /// - Precondition: The other stream is open, and belongs to the same reactor.
    /// - Parameter other: The stream whose socket it takes, with its encryption; what it has written must have been sent.
    /// - Throws: The call that failed; then the other stream still has its socket.
    public func takeSocket(of other: Stream) throws(SystemError) {
        precondition(isParked && other.isOpen && other.reactor === reactor)
        other.drain()
        guard other.pendingOutput.isEmpty else {
            throw SystemError(call: "send", code: EAGAIN)
        }
        // The kernel would keep reporting events of the other number as long as the socket is open.
        try reactor.unwatch(other)
        try SystemError.check(dup3(other.fd, fd, O_CLOEXEC), "dup3")
        takeEncryption(of: other)
        other.end(with: nil)
        obstacles.remove(.parked)
        flags.remove(.blocked)
        // What has arrived makes no event of its own if OpenSSL has read it.
        flags.insert(.readable)
        do throws(SystemError) {
            try reactor.watch(self)
        } catch {
            return end(with: .system(error))
        }
        reactor.serveLater(self)
        reactor.flushLater(self)
    }

    /// Parks a relayed stream, whose socket becomes that of a new stream.
    ///
    /// - Parameter delegate: The new stream's delegate; its `streamOpened` is not called.
    /// - Returns: The new stream, which is open.
    /// - Throws: The call that failed; then this stream still has its socket.
    public func giveSocket(to delegate: any StreamDelegate) throws(SystemError) -> Stream {
        precondition(obstacles.contains(.relayed) && !isParked && !isClosed)
        let descriptor = try FileDescriptor(fcntl(fd, F_DUPFD_CLOEXEC, 0), from: "fcntl")
        let parking = try reactor.parkingDescriptor()
        try reactor.unwatch(self)
        try SystemError.check(dup3(parking.raw, fd, O_CLOEXEC), "dup3")
        let other = Stream(
            descriptor,
            generation: reactor.makeGeneration(),
            reactor: reactor,
            limits: StreamLimits(queuedBytesMax: Int(queuedBytesMax)),
            delegate: delegate,
            phase: .open
        )
        other.takeEncryption(of: self)
        other.flags.formUnion(flags.intersection([.ended, .hungUp, .broken]))
        obstacles.insert(.parked)
        flags.subtract(.ofSocket)
        flags.insert(.blocked)
        unread = []
        if !pendingOutput.isEmpty { hold() }
        try reactor.register(other)
        return other
    }

    /// Removes and returns the queued bytes of a parked stream; a closing stream then ends.
    public func takeOutput() -> [UInt8] {
        precondition(isParked)
        guard !pendingOutput.isEmpty else { return [] }
        let bytes = makeQueue().takeAll()
        queueEmptied()
        if phase == .draining { end(with: nil) }
        return bytes
    }

    /// Sends bytes with one call, and returns how many were accepted; nil if the kernel refused them or the connection is
    /// lost.
    private func sendNow(_ base: UnsafeRawPointer, _ count: Int) -> Int? {
        if let tls { return write(base, count, tls) }
        let sent = Socket.send(fd, base, count, flags: sendFlags)
        guard sent < 0 else { return sent }
        switch errno {
        case EINTR, ENOBUFS: return 0
        case EAGAIN:
            flags.insert(.refused)
            markBlocked()
        case let code: fail(.system(SystemError(call: "send", code: code)))
        }
        return nil
    }

    private func takeEncryption(of other: Stream) {
        flags.subtract(.ofSocket)
        guard let session = other.tls.take() else { return }
        session.move(to: fd)
        tls = session
        obstacles.insert(.secure)
    }

    /// Sends the queue as far as it may go to the present socket.
    func drainRelayed() {
        guard !isParked else { return }
        let queue = makeQueue()
        while !queue.isEmpty {
            var isFilled = false
            let sent = queue.withFirst(TLSSession.recordLengthMax, reactor.record) {
                base,
                count -> Int? in
                let bytes = UnsafeRawBufferPointer(start: base, count: count)
                let portion = currentDelegate.stream(self, portionOf: bytes)
                guard portion > 0 else {
                    isFilled = true
                    return nil
                }
                guard let sent = sendNow(base, portion) else { return nil }
                currentDelegate.stream(
                    self,
                    sent: UnsafeRawBufferPointer(rebasing: bytes[..<sent])
                )
                return sent
            }
            guard let sent else {
                if isFilled {
                    flags.insert(.blocked)
                    reactor.notifyLater(self, .relayed(.filled))
                }
                if flags.contains(.blocked) { hold() }
                return
            }
            queue.remove(sent)
        }
        queueEmptied()
    }
}

extension Stream.Flags {
    /// What is known about a socket.
    fileprivate static let ofSocket: Stream.Flags = [
        .readable, .writable, .hungUp, .broken, .blocked, .ended, .redelivers, .readsWhenWritable,
        .writesWhenReadable, .watchesWritable,
    ]
}
