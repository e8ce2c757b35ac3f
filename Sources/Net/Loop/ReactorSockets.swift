import CLinux
import Glibc

// Making streams and listeners, and their registration with epoll.
extension Reactor {
    /// Listens on an address and accepts connections.
    ///
    /// A Unix-domain socket's file is removed first if no process listens on it any more, and again when
    /// the listener is closed.
    ///
    /// - Parameters:
    ///   - address: The address. With port 0 the kernel chooses a port, given by ``Listener/address``.
    ///   - backlog: The maximum number of connections that may wait to be accepted; Linux caps it (`somaxconn`).
    ///   - reusePort: Whether other loops listen on the same address, each accepting its share.
    ///   - inherited: Sockets that are used in place of new ones; loops share one.
    ///   - tls: The encryption of all streams of this listener; nil for none.
    ///   - streamLimits: The limits of each accepted stream.
    ///   - hasCapacity: Returns whether one more connection may be accepted. If not, connections wait in the backlog,
    ///     and it is called again after 50 ms.
    ///   - refused: Called for each connection that is closed at once because no descriptor is left for it.
    ///   - accept: Returns the delegate of a new stream from a peer's address, before it is opened.
    /// - Returns: The listener, which the reactor retains until it is closed.
    /// - Throws: The call that failed, for example `bind` if the address is in use.
    @discardableResult
    public func listen(
        on address: SocketAddress,
        backlog: Int32 = 4096,
        reusePort: Bool = false,
        inherited: InheritedSockets = .none,
        tls: TLSContext? = nil,
        streamLimits: StreamLimits = .init(),
        hasCapacity: @escaping () -> Bool = { true },
        refused: @escaping () -> Void = {},
        accept: @escaping (Stream, SocketAddress?) -> any StreamDelegate
    ) throws(SystemError) -> Listener {
        var file: UnixSocketFile?
        let descriptor: FileDescriptor
        if let shared = try inherited.socket(for: address) {
            descriptor = shared
        } else if case .unix(let path) = address.family {
            try UnixSocketFile.removeStale(at: address, path: path)
            descriptor = try Socket.listen(on: address, backlog: backlog, reusePort: false)
            file = UnixSocketFile(path: path)
        } else {
            descriptor = try Socket.listen(on: address, backlog: backlog, reusePort: reusePort)
        }
        let raw = descriptor.raw
        let bound = SocketAddress { getsockname(raw, $0, &$1) }
        let listener = Listener(
            descriptor,
            address: bound ?? address,
            file: file,
            generation: makeGeneration(),
            reactor: self,
            tls: tls,
            limits: streamLimits,
            hasCapacity: hasCapacity,
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
    /// The delegate's `streamOpened` or `streamClosed` is called with the result, never from inside this call. Bytes
    /// written before that are sent once the stream is open.
    ///
    /// - Parameters:
    ///   - address: The address to connect to.
    ///   - source: The address of this machine to connect from; by default the kernel chooses one.
    ///   - tls: The encryption and the host to ask for and to verify: a name, or an IP address.
    ///   - timeout: The time until the stream is opened, TLS handshake included.
    ///   - limits: The stream's limits; its handshake is bounded by `timeout`.
    ///   - delegate: The stream's delegate.
    /// - Returns: The stream, not open yet.
    /// - Throws: A call that failed before anything was sent, for example for lack of descriptors.
    public func connect(
        to address: SocketAddress,
        from source: SocketAddress? = nil,
        tls: (TLSContext, serverName: String)? = nil,
        timeout: Duration,
        limits: StreamLimits = .init(),
        delegate: any StreamDelegate
    ) throws(SystemError) -> Stream {
        let descriptor = try Socket.make(address.protocolFamily)
        if let source { try Socket.bind(descriptor.raw, toSource: source) }
        if !address.isUnix { try Socket.setNoDelay(on: descriptor.raw) }
        let fd = descriptor.raw
        var code: Int32 = 0
        let result = try address.withRaw { Glibc.connect(fd, $0, $1) }
        if result != 0 { code = errno }
        let stream = try addStream(
            descriptor,
            limits: limits,
            delegate: delegate,
            phase: .connecting
        )
        stream.setDeadline(after: timeout)
        if code != 0 && code != EINPROGRESS && code != EINTR {
            stream.end(with: .system(SystemError(call: "connect", code: code)))
        } else if let tls {
            _ = stream.encrypt(tls.0, serverName: tls.serverName)
        }
        return stream
    }

    /// Makes an open stream of a connected socket, for example one end of a socketpair(2).
    ///
    /// The socket is made non-blocking, and the delegate's `streamOpened` is called before this returns. Throws the
    /// call that failed.
    @discardableResult
    public func adopt(
        _ descriptor: consuming FileDescriptor,
        limits: StreamLimits = .init(),
        delegate: any StreamDelegate
    ) throws(SystemError) -> Stream {
        let state = try SystemError.check(fcntl(descriptor.raw, F_GETFL), "fcntl")
        try SystemError.check(fcntl(descriptor.raw, F_SETFL, state | O_NONBLOCK), "fcntl")
        let stream = try addStream(
            descriptor,
            limits: limits,
            delegate: delegate,
            phase: .handshaking
        )
        stream.open()
        return stream
    }

    /// Makes a stream of a descriptor and registers it.
    func addStream(
        _ descriptor: consuming FileDescriptor,
        limits: StreamLimits,
        delegate: any StreamDelegate,
        phase: Stream.Phase
    ) throws(SystemError) -> Stream {
        let stream = Stream(
            descriptor,
            generation: makeGeneration(),
            reactor: self,
            limits: limits,
            delegate: delegate,
            phase: phase
        )
        try register(stream)
        return stream
    }

    // MARK: Registration

    /// Adds a stream to the epoll set and the table.
    func register(_ stream: Stream) throws(SystemError) {
        try watch(stream)
        insert(stream)
    }

    /// Adds a stream to the table.
    func insert(_ stream: Stream) {
        while streams.count <= stream.fd { streams.append(nil) }
        streams[Int(stream.fd)] = stream
        liveStreamCount += 1
    }

    /// Adds a listener to the epoll set and the list.
    func register(_ listener: Listener) throws(SystemError) {
        try control(EPOLL_CTL_ADD, listener.fd, listener.generation, EPOLLIN.rawValue)
        listeners.append(listener)
    }

    /// Adds a stream to the epoll set.
    func watch(_ stream: Stream) throws(SystemError) {
        try control(EPOLL_CTL_ADD, stream.fd, stream.generation, stream.interest)
    }

    /// Removes a stream from the epoll set, because its socket stays open.
    func unwatch(_ stream: Stream) throws(SystemError) {
        try control(EPOLL_CTL_DEL, stream.fd, stream.generation, 0)
    }

    /// Updates the stream's interest in the epoll set; a condition that is true already makes an event.
    func update(_ stream: Stream) throws(SystemError) {
        try control(EPOLL_CTL_MOD, stream.fd, stream.generation, stream.interest)
    }

    /// Removes everything but errors from the stream's interest, until ``update(_:)``.
    func mute(_ stream: Stream) throws(SystemError) {
        try control(EPOLL_CTL_MOD, stream.fd, stream.generation, 0)
    }

    /// Adds a descriptor to the epoll set, where it stays until it is closed, or changes its events there.
    private func control(
        _ operation: Int32,
        _ fd: Int32,
        _ generation: UInt32,
        _ events: UInt32
    ) throws(SystemError) {
        var interest = epoll_event()
        interest.events = events | EPOLLET.rawValue
        interest.data.u64 = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: fd))
        try SystemError.check(epoll_ctl(epoll.raw, operation, fd, &interest), "epoll_ctl")
    }

    func makeGeneration() -> UInt32 {
        // Never `.max`, which is the upper half of the wakeup's mark.
        lastGeneration = lastGeneration == .max - 1 ? 0 : lastGeneration + 1
        return lastGeneration
    }

    /// Removes an ended stream, so that it gets no more events; its delegate is notified later in the turn.
    func unregister(_ stream: Stream, _ error: StreamError?) {
        streams[Int(stream.fd)] = nil
        liveStreamCount -= 1
        closed.append(ClosedStream(stream: stream, error: error))
    }

    /// Removes a listener that has stopped listening.
    func unregister(_ listener: Listener) { listeners.removeAll { $0 === listener } }
}
