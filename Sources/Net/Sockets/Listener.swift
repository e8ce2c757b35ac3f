import CLinux
import Glibc

/// A listening socket that makes a stream of each connection.
///
/// When descriptors run out, the listener neither stops nor spins. A connection without a descriptor is accepted with a
/// reserved one and closed at once, so that its peer gets an answer. A timer retries the rest of the kernel's backlog.
public final class Listener {
    /// The address, with the port that the kernel chose.
    public let address: SocketAddress
    /// The number of connections that were accepted.
    public var acceptedCount: Int { storedAcceptedCount }
    /// The number of connections that were closed at once because no descriptor was left for them.
    public private(set) var refusedCount = 0

    let fd: Int32
    let generation: UInt32
    var isReady = false
    private var descriptor: FileDescriptor?
    private let file: UnixSocketFile?
    private let reactor: Reactor
    private var tls: TLSContext?
    private let limits: StreamLimits
    private var storedAcceptedCount = 0
    private var accept: ((Stream, SocketAddress?) -> any StreamDelegate)?
    private let hasCapacity: () -> Bool
    private let refused: () -> Void
    private var retryTimer: TimerID?

    /// The maximum number of connections accepted in one turn, so that a burst does not delay the open ones.
    private static var burstCountMax: Int { 64 }
    /// The delay before accepting again when descriptors, memory or capacity have run out.
    private static var retryDelay: Duration { .milliseconds(50) }

    init(
        _ descriptor: consuming FileDescriptor,
        address: SocketAddress,
        file: UnixSocketFile?,
        generation: UInt32,
        reactor: Reactor,
        tls: TLSContext?,
        limits: StreamLimits,
        hasCapacity: @escaping () -> Bool,
        refused: @escaping () -> Void,
        accept: @escaping (Stream, SocketAddress?) -> any StreamDelegate
    ) {
        fd = descriptor.raw
        self.descriptor = consume descriptor
        self.address = address
        self.file = file
        self.generation = generation
        self.reactor = reactor
        self.tls = tls
        self.limits = limits
        self.hasCapacity = hasCapacity
        self.refused = refused
        self.accept = accept
    }

    /// Whether the listener has stopped listening.
    public var isClosed: Bool { descriptor == nil }

    /// Whether its streams are encrypted.
    public var isSecure: Bool { tls != nil }

    /// Replaces the certificates for new connections; existing ones, and those in a handshake, keep their context.
    ///
    /// Earlier sessions cannot be resumed with the new context; their clients make a full handshake.
    ///
    /// - Parameter context: A server context, for a listener that already has one.
    public func updateTLS(_ context: TLSContext) {
        precondition(isSecure && context.isServer, "a plain listener cannot become a secure one")
        tls = context
    }

    /// Stops listening.
    ///
    /// Accepted streams stay open; connections in the backlog are reset.
    public func close() {
        guard descriptor != nil else { return }
        file?.remove()
        reactor.unregister(self)
        descriptor = nil
        // Breaks a reference cycle: the closure may refer to an object that refers to the listener.
        accept = nil
        if let timer = retryTimer.take() { reactor.cancel(timer) }
    }

    func retry() {
        retryTimer = nil
        acceptBurst()
    }

    /// Accepts waiting connections, up to `burstCountMax`.
    func acceptBurst() {
        isReady = false
        var hasRefused = false
        for _ in 0..<Self.burstCountMax {
            guard descriptor != nil else { return }
            guard hasCapacity() else { return retryLater() }
            var peer = sockaddr_storage()
            let accepted = acceptOne(&peer)
            guard accepted < 0 else {
                startStream(accepted, SocketAddress(peer))
                continue
            }
            switch errno {
            case EAGAIN: return
            case EMFILE, ENFILE:
                guard refuseOne() else { return retryLater() }
                hasRefused = true
            case ENOBUFS, ENOMEM: return retryLater()
            // Errors of the connection to be accepted (accept(2)): the next one may be fine.
            default: continue
            }
        }
        if hasRefused { retryLater() } else { reactor.acceptLater(self) }
    }

    private func acceptOne(_ peer: inout sockaddr_storage) -> Int32 {
        let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return SocketAddress.fill(&peer) { accept4(fd, $0, &$1, flags) }
    }

    private func startStream(_ accepted: Int32, _ peer: SocketAddress?) {
        guard let accept,
            let descriptor = try? FileDescriptor(accepted, from: "accept4"),
            let stream = try? reactor.addStream(
                descriptor,
                limits: limits,
                delegate: NullStreamDelegate.shared,
                phase: .handshaking
            )
        else { return }
        storedAcceptedCount += 1
        stream.currentDelegate = accept(stream, peer)
        guard stream.phase == .handshaking else { return }
        guard let tls else { return stream.open() }
        // The handshake begins with the event that completes the client's first record.
        if stream.encrypt(tls, serverName: nil) {
            stream.setDeadline(after: limits.handshakeTimeout)
        }
    }

    /// Accepts one waiting connection with the reserved descriptor and closes it.
    private func refuseOne() -> Bool {
        reactor.replaceSpareDescriptor()
        guard reactor.spareDescriptor != nil else { return false }
        reactor.spareDescriptor = nil
        var peer = sockaddr_storage()
        let accepted = acceptOne(&peer)
        guard accepted >= 0 else {
            reactor.replaceSpareDescriptor()
            return false
        }
        refusedCount += 1
        refused()
        // dup2 closes the connection and makes its descriptor the reserve again in one step. So no other thread of the
        // process can take the descriptor in between.
        if dup2(reactor.loop.wakeup.raw, accepted) < 0 { return Glibc.close(accepted) == 0 }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        reactor.spareDescriptor = try? FileDescriptor(accepted, from: "dup2")
        return true
    }

    private func retryLater() {
        guard retryTimer == nil, !isClosed else { return }
        retryTimer = reactor.schedule(after: Self.retryDelay, .accept(self))
    }
}

/// The file of a listening Unix-domain socket, which its listener removes.
struct UnixSocketFile {
    let path: String
    /// The file's identity: when the listener is closed, another program may listen at the path.
    private let device: dev_t
    private let inode: ino_t

    /// Records the identity of the file that was just bound; nil if it no longer exists.
    init?(path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        (device, inode) = (status.st_dev, status.st_ino)
    }

    /// Removes the file, unless it was replaced by another.
    func remove() {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode else {
            return
        }
        unlink(path)
    }

    /// Removes the socket file if no process listens on it; leaves files of other kinds.
    static func removeStale(at address: SocketAddress, path: String) throws(SystemError) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
        let probe = try Socket.make(AF_UNIX)
        let result = try address.withRaw { Glibc.connect(probe.raw, $0, $1) }
        let code = errno
        // Only ECONNREFUSED means that no process listens; a full backlog (EAGAIN) means the opposite.
        if result != 0 && code == ECONNREFUSED { unlink(path) }
    }
}
