import CLinux
import Glibc

/// A listening socket that makes streams of what connects to it.
///
/// Running out of descriptors neither stops it nor makes it spin: a connection that finds none is
/// taken with a descriptor held in reserve and closed at once, so that its peer knows; what remains
/// in the kernel's backlog is taken up by a timer.
public final class Listener {
    /// The address, with the port that the kernel chose.
    public let address: SocketAddress
    /// How many connections have been accepted and given to an owner.
    public var acceptedCount: Int { admittedCount }
    /// How many connections were closed at once because no descriptor was left for them.
    public private(set) var refusedCount = 0

    let fd: Int32
    let generation: UInt32
    var isReady = false
    private var descriptor: FileDescriptor?
    private let file: UnixSocketFile?
    private let reactor: Reactor
    private var tls: TLSContext?
    private let limits: StreamLimits
    private var admittedCount = 0
    private var accept: ((Stream) -> any StreamDelegate)?
    private let hasRoom: () -> Bool
    private let refused: () -> Void
    private var retryTimer: TimerID?

    /// Connections taken in one turn, so that a crowd at the door does not hold up those inside.
    private static var burstCountMax: Int { 64 }
    /// How long to wait for a descriptor, or memory, to become free.
    private static var retryDelay: Duration { .milliseconds(50) }

    init(
        _ descriptor: consuming FileDescriptor,
        address: SocketAddress,
        file: UnixSocketFile?,
        generation: UInt32,
        reactor: Reactor,
        tls: TLSContext?,
        limits: StreamLimits,
        hasRoom: @escaping () -> Bool,
        refused: @escaping () -> Void,
        accept: @escaping (Stream) -> any StreamDelegate
    ) {
        fd = descriptor.raw
        self.descriptor = consume descriptor
        self.address = address
        self.file = file
        self.generation = generation
        self.reactor = reactor
        self.tls = tls
        self.limits = limits
        self.hasRoom = hasRoom
        self.refused = refused
        self.accept = accept
    }

    /// Whether it has stopped listening.
    public var isClosed: Bool { descriptor == nil }

    /// Whether its streams are encrypted.
    public var isSecure: Bool { tls != nil }

    /// Presents other certificates to those who connect from now on; who is connected, or shaking hands, stays with the
    /// context that it began with.
    ///
    /// Their sessions cannot be resumed with this context: such a client gets a whole handshake, and notices nothing.
    ///
    /// - Parameter context: A server's side, for a listener that has one already.
    public func present(_ context: TLSContext) {
        precondition(isSecure && context.isServer, "a plain listener cannot become a secure one")
        tls = context
    }

    /// Stops listening; streams already accepted live on, those still in the backlog are reset.
    public func close() {
        guard descriptor != nil else { return }
        file?.remove()
        reactor.forget(self)
        descriptor = nil
        // It may refer to whoever refers to the listener.
        accept = nil
        if let timer = retryTimer.take() { reactor.cancel(timer) }
    }

    func retry() {
        retryTimer = nil
        acceptBurst()
    }

    /// Accepts what waits, at most a burst of it.
    func acceptBurst() {
        isReady = false
        var hasRefused = false
        for _ in 0..<Self.burstCountMax {
            guard descriptor != nil else { return }
            guard hasRoom() else { return retryLater() }
            let accepted = acceptOne()
            guard accepted < 0 else {
                admit(accepted)
                continue
            }
            switch errno {
            case EAGAIN: return
            case EMFILE, ENFILE:
                guard refuseOne() else { return retryLater() }
                hasRefused = true
            case ENOBUFS, ENOMEM: return retryLater()
            // Errors of the connection that was to be accepted (accept(2)): the next one may be fine.
            default: continue
            }
        }
        if hasRefused { retryLater() } else { reactor.acceptLater(self) }
    }

    private func acceptOne() -> Int32 {
        accept4(fd, nil, nil, Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue))
    }

    private func admit(_ accepted: Int32) {
        guard let accept,
            let descriptor = try? FileDescriptor(accepted, from: "accept4"),
            let stream = try? reactor.enter(
                descriptor,
                limits: limits,
                owner: NullStreamDelegate.shared,
                phase: .handshaking
            )
        else { return }
        admittedCount += 1
        stream.currentOwner = accept(stream)
        guard stream.phase == .handshaking else { return }
        guard let tls else { return stream.open() }
        // The handshake begins with the event that brings the rest of the client's first record.
        if stream.encrypt(tls, serverName: nil) {
            stream.setDeadline(after: limits.handshakeTimeout)
        }
    }

    /// Closes one waiting connection, by means of the descriptor in reserve.
    private func refuseOne() -> Bool {
        reactor.replaceSpareDescriptor()
        guard reactor.spareDescriptor != nil else { return false }
        reactor.spareDescriptor = nil
        let accepted = acceptOne()
        guard accepted >= 0 else {
            reactor.replaceSpareDescriptor()
            return false
        }
        refusedCount += 1
        refused()
        // In one step the connection is closed and its descriptor is the reserve again: no other thread of the process
        // can take the place in between.
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
