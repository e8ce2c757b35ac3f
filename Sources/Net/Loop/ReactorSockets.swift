import CLinux
import Glibc

// How streams and listeners come into being.
extension Reactor {
    /// Listens on an address and accepts what connects.
    ///
    /// A Unix-domain socket's file is removed first if nobody listens on it any more, and again when
    /// the listener is closed.
    ///
    /// - Parameters:
    ///   - address: Port 0 lets the kernel choose; ``Listener/address`` says which.
    ///   - backlog: How many connections may wait to be accepted; Linux caps it (`somaxconn`).
    ///   - reusePort: Whether other loops listen on the same address, each accepting its share.
    ///   - tls: Encrypts all streams of this listener; nil for plain ones.
    ///   - streamLimits: The limits of each accepted stream.
    ///   - hasRoom: Whether one more connection is to be accepted; if not, those that come wait in the backlog, and it
    ///     is asked again every few milliseconds.
    ///   - refused: Is told of each connection that is closed at once because no descriptor is left for it.
    ///   - accept: Names the owner of a new stream, before it is opened.
    /// - Returns: The listener, which the reactor keeps until it is closed.
    /// - Throws: The call that failed, for example `bind` if the address is in use.
    @discardableResult
    public func listen(
        on address: SocketAddress,
        backlog: Int32 = 4096,
        reusePort: Bool = false,
        tls: TLSContext? = nil,
        streamLimits: StreamLimits = .init(),
        hasRoom: @escaping () -> Bool = { true },
        refused: @escaping () -> Void = {},
        accept: @escaping (Stream) -> any StreamDelegate
    ) throws(SystemError) -> Listener {
        var file: UnixSocketFile?
        if case .unix(let path) = address.family {
            try UnixSocketFile.removeStale(at: address, path: path)
        }
        let descriptor = try Socket.listen(on: address, backlog: backlog, reusePort: reusePort)
        if case .unix(let path) = address.family { file = UnixSocketFile(path: path) }
        let bound = SocketAddress(of: descriptor.raw) { getsockname($0, $1, &$2) }
        let listener = Listener(
            descriptor,
            address: bound ?? address,
            file: file,
            generation: makeGeneration(),
            reactor: self,
            tls: tls,
            limits: streamLimits,
            hasRoom: hasRoom,
            refused: refused,
            accept: accept
        )
        do throws(SystemError) {
            try register(listener)
        } catch {
            listener.close()
            throw error
        }
        return listener
    }

    /// Connects to an address.
    ///
    /// Whether it succeeds is told to the owner, by `streamOpened` or by `streamClosed`, never from
    /// inside this call. What is written before waits.
    ///
    /// - Parameters:
    ///   - address: Where to.
    ///   - tls: The encryption and the host to ask for and to verify: a name, or an IP address.
    ///   - timeout: How long it may take until the stream is opened, TLS handshake included.
    ///   - limits: The stream's limits; its handshake is bounded by `timeout`.
    ///   - owner: Who is told.
    /// - Returns: The stream, not open yet.
    /// - Throws: A call that failed before anything was sent: no descriptor is left, say.
    public func connect(
        to address: SocketAddress,
        tls: (TLSContext, serverName: String)? = nil,
        timeout: Duration,
        limits: StreamLimits = .init(),
        owner: any StreamDelegate
    ) throws(SystemError) -> Stream {
        let descriptor = try Socket.make(address.protocolFamily)
        if !address.isUnix { try Socket.setNoDelay(on: descriptor.raw) }
        let fd = descriptor.raw
        var code: Int32 = 0
        let result = try address.withRaw { Glibc.connect(fd, $0, $1) }
        if result != 0 { code = errno }
        let stream = try enter(descriptor, limits: limits, owner: owner, phase: .connecting)
        stream.setDeadline(after: timeout)
        if code != 0 && code != EINPROGRESS && code != EINTR {
            stream.end(with: .system(SystemError(call: "connect", code: code)))
        } else if let tls {
            _ = stream.encrypt(tls.0, serverName: tls.serverName)
        }
        return stream
    }

    /// Takes over a connected stream socket, for example one end of a socketpair(2).
    ///
    /// - Parameters:
    ///   - descriptor: The socket; it is made non-blocking.
    ///   - limits: The stream's limits.
    ///   - owner: Who is told; `streamOpened` is called before this returns.
    /// - Returns: The open stream.
    /// - Throws: The call that failed.
    @discardableResult
    public func adopt(
        _ descriptor: consuming FileDescriptor,
        limits: StreamLimits = .init(),
        owner: any StreamDelegate
    ) throws(SystemError) -> Stream {
        let state = try SystemError.check(fcntl(descriptor.raw, F_GETFL), "fcntl")
        try SystemError.check(fcntl(descriptor.raw, F_SETFL, state | O_NONBLOCK), "fcntl")
        let stream = try enter(descriptor, limits: limits, owner: owner, phase: .handshaking)
        stream.open()
        return stream
    }

    /// Makes a stream of a descriptor and enters it into the tables.
    func enter(
        _ descriptor: consuming FileDescriptor,
        limits: StreamLimits,
        owner: any StreamDelegate,
        phase: Stream.Phase
    ) throws(SystemError) -> Stream {
        let stream = Stream(
            descriptor,
            generation: makeGeneration(),
            reactor: self,
            limits: limits,
            owner: owner,
            phase: phase
        )
        try register(stream)
        return stream
    }
}
