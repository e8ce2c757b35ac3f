import Glibc

// TLS: encrypted bytes in both directions.
extension Stream {
    /// Whether the stream is encrypted.
    public var isSecure: Bool { tls != nil || obstacles.contains(.secure) }

    /// The result of the TLS handshake; nil for a plain stream, before it is open, and after its end.
    public var negotiatedTLS: NegotiatedTLS? {
        phase == .open || phase == .draining ? tls?.negotiated : nil
    }

    /// The maximum number of reads in one turn, of up to a record each.
    private static var recordCountMax: Int { 16 }
    /// The number of records, of at most 16 KiB, that correspond to one read of a plain stream.
    private static var recordsPerRead: Int { 4 }

    /// Sets up the encryption of a stream that is not open yet.
    ///
    /// - Parameters:
    ///   - context: A server or client context.
    ///   - serverName: For a client, the host to ask for and to verify; nil for a server.
    /// - Returns: Whether that succeeded; if not, the stream has ended.
    func encrypt(_ context: TLSContext, serverName: String?) -> Bool {
        obstacles.insert(.secure)
        do throws(TLSError) {
            tls = try TLSSession(context, fd: fd, serverName: serverName)
            return true
        } catch {
            end(with: .tls(error))
            return false
        }
    }

    /// Starts TLS as a client on a plain stream, for example after a proxy has opened a tunnel.
    ///
    /// Another `streamOpened` follows when the handshake is complete, or `streamClosed` if it fails.
    ///
    /// - Parameters:
    ///   - context: A client context.
    ///   - serverName: The host to ask for and to verify: a name, or an IP address.
    ///   - timeout: The longest duration of the handshake.
    public func startTLS(_ context: TLSContext, serverName: String, timeout: Duration) {
        guard isOpen, tls == nil else { return }
        // Unsent bytes would be sent in the middle of the handshake.
        guard pendingOutput.isEmpty else {
            return end(with: .tls(.refused(reason: "unsent bytes precede the TLS handshake")))
        }
        phase = .handshaking
        obstacles.insert(.notOpen)
        unread = []
        guard encrypt(context, serverName: serverName) else { return }
        setDeadline(after: timeout)
        reactor.serveLater(self)
    }

    /// Begins the handshake, or continues it after an event.
    func continueHandshake(_ tls: TLSSession) {
        guard tls.hasBegun || hasFirstRecord else { return }
        if !tls.hasBegun, beginsWithMethod { return refusePlaintext() }
        switch tls.handshake() {
        case .done:
            // OpenSSL may have buffered bytes that it read together with the handshake's last; no event reports them.
            flags.insert(.readable)
            open()
        case .wantsRead: break
        case .wantsWrite: watchWritable()
        case .ended: end(with: .tls(.endedInHandshake))
        case .failed(let error): end(with: error)
        }
    }

    /// Whether a client's first record has arrived completely, so that an incomplete one takes no memory.
    ///
    /// Also true for bytes that are not such a record, which OpenSSL then refuses.
    private var hasFirstRecord: Bool {
        guard flags.isDisjoint(with: [.hungUp, .broken]) else { return true }
        guard flags.contains(.readable) else { return false }
        // RFC 8446 §5.1: the type, the version, and the length of the rest.
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

    /// Whether a client's first bytes are the method of an HTTP request: three capital letters (RFC 9110 §9).
    private var beginsWithMethod: Bool {
        var bytes: [3 of UInt8] = .init(repeating: 0)
        guard recv(fd, &bytes, 3, Int32(MSG_PEEK)) == 3 else { return false }
        for index in bytes.indices where !(0x41...0x5A).contains(bytes[index]) { return false }
        return true
    }

    /// Answers a client that speaks HTTP without TLS, and ends the stream.
    private func refusePlaintext() {
        let answer = currentDelegate.streamReceivedPlaintext(self)
        // Unread bytes would make the kernel reset the connection, and the client would lose the answer.
        let buffer = reactor.receiveBuffer(after: 0)
        while recv(fd, buffer.baseAddress, buffer.count, 0) == buffer.count {}
        _ = answer.withUnsafeBytes {
            send(fd, $0.baseAddress, $0.count, Socket.sendFlags)
        }
        end(with: .tls(.plaintext))
    }

    /// Reads records until there are no more, or the stream's share of the turn is used up.
    func readSecure(_ tls: TLSSession) {
        for number in 0..<Self.recordCountMax {
            if number >= Self.recordsPerRead, reactor.isTurnLong { break }
            let buffer = reactor.receiveBuffer(after: unread.count)
            switch tls.read(into: buffer) {
            case .done(let count):
                receive(count, in: buffer)
                guard mayRead else { return }
            case .wantsRead:
                flags.remove(.readable)
                if number == 0 { currentDelegate.streamAwaitsRecord(self) }
                return
            case .wantsWrite:
                flags.remove(.readable)
                flags.insert(.readsWhenWritable)
                return watchWritable()
            case .ended:
                return reachEnd()
            case .failed(let error):
                return end(with: error)
            }
        }
        reactor.serveLater(self)
    }

    /// Encrypts and sends a buffer while nothing is queued; queues the part that the kernel refuses.
    func sendSecure(_ bytes: [UInt8], _ tls: TLSSession) {
        var sent = 0
        bytes.withUnsafeBytes { all in
            guard let base = all.baseAddress else { return }
            while sent < all.count {
                guard let count = write(base + sent, all.count - sent, tls) else { return }
                sent += count
            }
        }
        if sent < bytes.count && !flags.contains(.failed) { enqueue(bytes, from: sent) }
    }

    /// Sends the queue in records as long as possible.
    func drainSecure(_ tls: TLSSession) {
        let queue = makeQueue()
        while !queue.isEmpty {
            let accepted = queue.withFirst(TLSSession.recordLengthMax, reactor.record) {
                write($0, $1, tls)
            }
            guard let accepted else {
                if flags.contains(.blocked) { hold() }
                return
            }
            queue.remove(accepted)
        }
        queueEmptied()
    }

    /// Writes one record and returns its length; nil if the kernel refused it or the connection is lost.
    func write(_ base: UnsafeRawPointer, _ count: Int, _ tls: TLSSession) -> Int? {
        switch tls.write(base, count) {
        case .done(let accepted): return accepted
        case .wantsWrite:
            flags.insert(.refused)
            markBlocked()
        case .wantsRead:
            flags.formUnion([.refused, .writesWhenReadable])
            markBlocked()
        case .ended: fail(.tls(.refused(reason: "closed by the peer")))
        case .failed(let error): fail(error)
        }
        return nil
    }

    /// Sends `close_notify`.
    ///
    /// - Returns: False if it has to be retried when the socket is ready; true if it was sent or cannot be sent any
    ///   more.
    func sendCloseNotify(_ tls: TLSSession) -> Bool {
        switch tls.shutDown() {
        case .wantsWrite, .wantsRead:
            markBlocked()
            return false
        case .done, .ended, .failed:
            return true
        }
    }
}
