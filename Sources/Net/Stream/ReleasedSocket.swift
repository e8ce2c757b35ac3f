import Glibc

/// A connected socket on its way from one reactor to another, with its encryption.
public final class ReleasedSocket: @unchecked Sendable {
    // SAFETY: the thread that releases it posts it to the one that adopts it, and keeps no reference.
    fileprivate var descriptor: FileDescriptor?
    fileprivate var tls: TLSSession?

    fileprivate init(_ descriptor: consuming FileDescriptor, _ tls: TLSSession?) {
        self.descriptor = consume descriptor
        self.tls = tls
    }
}

extension Stream {
    /// Ends the stream and returns its socket, for another reactor.
    ///
    /// Bytes that the delegate has not consumed are lost, and so are unsent ones.
    ///
    /// - Precondition: The stream is open.
    /// - Throws: The call that failed; then the stream still has its socket.
    public func release() throws(SystemError) -> ReleasedSocket {
        precondition(isOpen && !isParked)
        // The number is closed with the stream.
        let descriptor = try FileDescriptor(fcntl(fd, F_DUPFD_CLOEXEC, 0), from: "fcntl")
        try reactor.unwatch(self)
        let session = tls.take()
        session?.move(to: descriptor.raw)
        let socket = ReleasedSocket(descriptor, session)
        end(with: nil)
        return socket
    }
}

extension Reactor {
    /// Makes an open stream of a socket that another reactor has released; the delegate's `streamOpened` is called before
    /// this returns.
    ///
    /// Throws the call that failed.
    @discardableResult
    public func adopt(
        _ socket: ReleasedSocket,
        limits: StreamLimits = .init(),
        delegate: any StreamDelegate
    ) throws(SystemError) -> Stream {
        guard let descriptor = socket.descriptor.take() else {
            preconditionFailure("a socket is adopted once")
        }
        let stream = try addStream(
            descriptor,
            limits: limits,
            delegate: delegate,
            phase: .handshaking
        )
        if let session = socket.tls.take() {
            stream.tls = session
            stream.obstacles.insert(.secure)
            // OpenSSL may have read more than the delegate got.
            stream.flags.insert(.readable)
        }
        stream.open()
        return stream
    }
}
