import Glibc

// Encrypted bytes, in both directions.
extension Stream {
    /// Whether the stream is encrypted.
    public var isSecure: Bool { session != nil || obstacles.contains(.secure) }

    /// What the TLS handshake came to; nil for a plain stream, and before and after its life.
    public var tls: TLSFacts? { phase == .open || phase == .draining ? session?.facts : nil }

    /// Reads done in one turn, of up to a record each.
    private static var recordCountMax: Int { 16 }
    /// Records, of 16 KiB at the most, that are as much as one read of a plain stream.
    private static var recordsPerRead: Int { 4 }

    /// Gives a stream that is not open yet its encryption.
    ///
    /// - Parameters:
    ///   - context: The server's or the client's side.
    ///   - serverName: For a client, the host to ask for and to verify; nil for a server.
    /// - Returns: Whether that succeeded; if not, the stream has ended.
    func encrypt(_ context: TLSContext, serverName: String?) -> Bool {
        obstacles.insert(.secure)
        do throws(TLSError) {
            session = try TLSSession(context, fd: fd, serverName: serverName)
            return true
        } catch {
            end(with: .tls(error))
            return false
        }
    }

    /// Goes over from plain bytes to TLS as a client, such as behind a proxy that has agreed to a tunnel.
    ///
    /// The owner is told by another `streamOpened` when the handshake is done, or by `streamClosed`.
    ///
    /// - Parameters:
    ///   - context: The client's side.
    ///   - serverName: The host to ask for and to verify: a name, or an IP address.
    ///   - timeout: How long the handshake may take.
    public func startTLS(_ context: TLSContext, serverName: String, timeout: Duration) {
        guard isOpen, session == nil else { return }
        // What has been written and not sent would be sent in the middle of the handshake.
        guard unsent.isEmpty else {
            return end(with: .tls(.refused(reason: "the peer answered before it was asked")))
        }
        phase = .handshaking
        obstacles.insert(.notOpen)
        unread = []
        guard encrypt(context, serverName: serverName) else { return }
        setDeadline(after: timeout)
        reactor.serve(self)
    }

    /// Begins the handshake, or goes on with it after an event.
    func shakeHands(_ session: TLSSession) {
        guard session.hasBegun || hasFirstRecord else { return }
        switch session.handshake() {
        case .done:
            // Bytes read together with the handshake's last wait in OpenSSL; no event announces them.
            flags.insert(.readable)
            open()
        case .wantsRead: break
        case .wantsWrite: awaitRoom()
        case .ended: end(with: .tls(.endedInHandshake))
        case .failed(let error): end(with: error)
        }
    }

    /// Whether a client's first record is here as a whole, so that it costs us no memory while it is on its way; or
    /// something that is no such record, which is then OpenSSL's to refuse.
    private var hasFirstRecord: Bool {
        guard flags.isDisjoint(with: [.hungUp, .broken]) else { return true }
        guard flags.contains(.readable) else { return false }
        // RFC 8446 §5.1: type, version, and the length of what follows.
        var header: [5 of UInt8] = .init(repeating: 0)
        let count = recv(fd, &header, 5, Int32(MSG_PEEK))
        if count < 0 { return errno != EAGAIN }
        guard count > 0, header[0] == 22 else { return true }
        guard count == 5 else { return false }
        let length = 5 + (Int(header[3]) << 8 | Int(header[4]))
        var available: Int32 = 0
        guard length <= 5 + TLSSession.recordLengthMax, ioctl(fd, UInt(FIONREAD), &available) == 0
        else { return true }
        return available >= length
    }

    /// Reads records until there are no more, or the turn's share is used up.
    func readSecure(_ session: TLSSession) {
        for number in 0..<Self.recordCountMax {
            if number >= Self.recordsPerRead, isTurnLong { break }
            let room = reactor.room(behind: unread.count)
            switch session.read(into: room) {
            case .done(let count):
                take(count, at: room)
                guard mayRead else { return }
            case .wantsRead:
                flags.remove(.readable)
                if number == 0 { currentOwner.streamAwaitsRecord(self) }
                return
            case .wantsWrite:
                flags.remove(.readable)
                flags.insert(.readsWhenWritable)
                return awaitRoom()
            case .ended:
                return reachEnd()
            case .failed(let error):
                return end(with: error)
            }
        }
        reactor.serve(self)
    }

    /// Sends bytes of which nothing is queued; what the kernel refuses is queued.
    func sendSecure(_ bytes: [UInt8], _ session: TLSSession) {
        var sent = 0
        bytes.withUnsafeBytes { all in
            guard let base = all.baseAddress else { return }
            while sent < all.count {
                guard let count = write(base + sent, all.count - sent, session) else { return }
                sent += count
            }
        }
        if sent < bytes.count && !flags.contains(.failed) { enqueue(bytes, from: sent) }
    }

    /// Sends the queue, in records as full as can be.
    func drainSecure(_ session: TLSSession) {
        let queue = makeQueue()
        while !queue.isEmpty {
            let accepted = queue.withFirst(TLSSession.recordLengthMax, reactor.record) {
                write($0, $1, session)
            }
            guard let accepted else {
                if flags.contains(.blocked) { hold() }
                return
            }
            queue.remove(accepted)
        }
        releaseQueue()
    }

    /// Writes one record; nil if the kernel refused it or the connection is lost.
    private func write(_ base: UnsafeRawPointer, _ count: Int, _ session: TLSSession) -> Int? {
        switch session.write(base, count) {
        case .done(let accepted): return accepted
        case .wantsWrite:
            flags.insert(.refused)
            block()
        case .wantsRead:
            flags.formUnion([.refused, .writesWhenReadable])
            block()
        case .ended: fail(.tls(.refused(reason: "closed by the peer")))
        case .failed(let error): fail(error)
        }
        return nil
    }

    /// Says `close_notify`.
    ///
    /// - Returns: Whether it is said, or cannot be said any more.
    func farewell(_ session: TLSSession) -> Bool {
        switch session.shutDown() {
        case .wantsWrite, .wantsRead:
            block()
            return false
        case .done, .ended, .failed:
            return true
        }
    }
}
