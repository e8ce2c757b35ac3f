import Glibc

/// A connection: bytes in both directions, plain or TLS.
///
/// Confined to its reactor's thread. An idle stream has no buffer: the ``delegate`` gets received bytes in the
/// reactor's buffer, and written bytes go to the kernel. Only what the kernel does not accept is queued.
public final class Stream {
    /// The descriptor's number, for logs; it may be reused once the stream is closed.
    public let fd: Int32
    let generation: UInt32
    let reactor: Reactor

    // Internal, so that the optimizer sees every access and drops the dynamic exclusivity checks. The order avoids
    // padding, because a broker has many streams.
    var currentDelegate: any StreamDelegate
    /// Bytes that the kernel has not accepted.
    var pendingOutput = PendingOutput.nothing
    /// Bytes that the delegate has not consumed.
    var unread: [UInt8] = []
    /// The encryption; nil for a plain stream, and for one that is not connected.
    var tls: TLSSession?
    /// The stream's memberships in groups.
    var memberships = GroupMemberships.none
    /// ``StreamLimits/queuedBytesMax``, clamped to 4 GiB.
    let queuedBytesMax: UInt32
    /// The deadline of connecting, of the handshake or of closing.
    var deadline: TimerID?
    var phase: Phase
    var obstacles: Obstacles = [.notOpen] {
        didSet {
            guard oldValue.isEmpty != obstacles.isEmpty else { return }
            memberships.forEach { $0.group.updateDescriptor(of: self, at: $0) }
        }
    }
    var lag = ReaderLag.none
    /// Exclusive access is unchecked: closing it makes no callbacks.
    @exclusivity(unchecked) var descriptor: FileDescriptor?
    var flags: Flags = []
    /// The number of unsent batches with frames that exclude this stream.
    var exclusionCount: Int32 = 0

    init(
        _ descriptor: consuming FileDescriptor,
        generation: UInt32,
        reactor: Reactor,
        limits: StreamLimits,
        delegate: any StreamDelegate,
        phase: Phase
    ) {
        fd = descriptor.raw
        self.descriptor = consume descriptor
        self.generation = generation
        self.reactor = reactor
        queuedBytesMax = UInt32(clamping: limits.queuedBytesMax)
        currentDelegate = delegate
        self.phase = phase
        // The socket becomes writable when it is connected.
        if phase == .connecting { flags.insert(.watchesWritable) }
        if phase == .open { obstacles = [] }
    }

    /// The phases of a stream, in order.
    enum Phase: UInt8 {
        case connecting, handshaking, open
        /// Closing: the queue is still being sent.
        case draining
        /// Closing: everything is sent, and the stream waits for the peer's FIN.
        case finishing
        case closed
    }

    /// The reasons why a plain send to the stream is not allowed.
    struct Obstacles: OptionSet {
        let rawValue: UInt8
        /// Earlier bytes are queued.
        static let queued = Obstacles(rawValue: 1)
        /// The bytes have to be encrypted.
        static let secure = Obstacles(rawValue: 2)
        /// The stream is in several groups, whose bytes are sent together.
        static let shared = Obstacles(rawValue: 4)
        /// A frame of a batch excludes the stream.
        static let excluded = Obstacles(rawValue: 8)
        /// The stream is not open yet, or no longer.
        static let notOpen = Obstacles(rawValue: 16)
        /// The stream gets no more frames from its groups; see ``Stream/detachFromGroups()``.
        static let detached = Obstacles(rawValue: 32)
        /// The stream outlives its sockets, and its delegate decides how much each of them gets.
        static let relayed = Obstacles(rawValue: 64)
        /// The stream is relayed, and has no socket.
        static let parked = Obstacles(rawValue: 128)
    }

    struct Flags: OptionSet {
        let rawValue: UInt16
        /// The kernel has reported bytes, or the end.
        static let readable = Flags(rawValue: 1 << 0)
        /// The kernel has reported that it accepts bytes again.
        static let writable = Flags(rawValue: 1 << 1)
        /// The peer has ended its side; reading continues until that end.
        static let hungUp = Flags(rawValue: 1 << 2)
        /// The socket has a pending error.
        static let broken = Flags(rawValue: 1 << 3)
        /// The stream is in the reactor's list of streams to serve.
        static let isReady = Flags(rawValue: 1 << 4)
        /// The stream will be flushed in this turn: it is being served, or in the reactor's list.
        static let isDirty = Flags(rawValue: 1 << 5)
        /// The kernel's send buffer is full; an event will report when it accepts bytes again.
        static let blocked = Flags(rawValue: 1 << 6)
        /// The kernel has refused bytes since the queue was last empty.
        static let refused = Flags(rawValue: 1 << 7)
        static let overflowed = Flags(rawValue: 1 << 8)
        static let paused = Flags(rawValue: 1 << 9)
        /// The `unread` bytes are to be delivered again without waiting for more.
        static let redelivers = Flags(rawValue: 1 << 10)
        /// The peer's end has been read.
        static let ended = Flags(rawValue: 1 << 11)
        /// A failure has been recorded; the delegate is notified in this turn.
        static let failed = Flags(rawValue: 1 << 12)
        // TLS may have to write in order to read, and to read in order to write (SSL_get_error(3)).
        static let readsWhenWritable = Flags(rawValue: 1 << 13)
        static let writesWhenReadable = Flags(rawValue: 1 << 14)
        /// The epoll interest includes EPOLLOUT.
        static let watchesWritable = Flags(rawValue: 1 << 15)
    }

    // MARK: For the delegate

    /// The delegate for this stream's events.
    ///
    /// Bytes that the old delegate has not consumed are delivered to a new one at once.
    public var delegate: any StreamDelegate {
        get { currentDelegate }
        set {
            currentDelegate = newValue
            guard !unread.isEmpty else { return }
            flags.insert(.redelivers)
            reactor.serveLater(self)
        }
    }

    /// Whether the stream has ended; the delegate may not have been notified yet.
    public var isClosed: Bool { phase == .closed }

    /// Whether the stream accepts no more writes.
    public var isClosing: Bool { phase.rawValue > Phase.open.rawValue || flags.contains(.failed) }

    /// Whether the stream has been opened and accepts writes.
    public var isOpen: Bool { phase == .open && !flags.contains(.failed) }

    /// The number of written bytes that the kernel has not accepted.
    public var queuedByteCount: Int { pendingOutput.byteCount }

    /// Returns the peer's address; nil if the connection is lost or closed.
    public func remoteAddress() -> SocketAddress? {
        guard descriptor != nil else { return nil }
        return SocketAddress { getpeername(fd, $0, &$1) }
    }

    /// Returns the local address; nil if the stream is closed.
    public func localAddress() -> SocketAddress? {
        guard descriptor != nil else { return nil }
        return SocketAddress { getsockname(fd, $0, &$1) }
    }

    /// Returns the smoothed round-trip time that TCP has measured, in microseconds; nil if the connection is lost,
    /// closed or not TCP.
    public func roundTripMicroseconds() -> Int? {
        guard descriptor != nil else { return nil }
        return Socket.roundTripMicroseconds(of: fd)
    }

    /// Stops reading, so that TCP flow control stops the peer once the kernel's receive buffer is full.
    ///
    /// Inside ``StreamDelegate/stream(_:received:)`` the unconsumed bytes are kept.
    public func pauseReading() {
        guard !isClosing else { return }
        flags.insert(.paused)
    }

    /// Delivers the unconsumed bytes again in the next turn, without waiting for more.
    ///
    /// A delegate calls it inside ``StreamDelegate/stream(_:received:)`` when it got more than it should process in one
    /// turn. Other streams are served first, and nothing more is read until the bytes are consumed.
    public func redeliverUnread() {
        guard !isClosing else { return }
        flags.insert(.redelivers)
        reactor.serveLater(self)
    }

    /// Resumes after ``pauseReading()``, beginning with the kept bytes.
    public func resumeReading() {
        guard flags.contains(.paused) else { return }
        flags.remove(.paused)
        guard !isParked else { return }
        if !unread.isEmpty { flags.insert(.redelivers) }
        // Bytes that arrived meanwhile have already had their edge-triggered event.
        flags.insert(.readable)
        reactor.serveLater(self)
    }

    /// Pauses reading, and stops the kernel's notifications of received bytes.
    ///
    /// For a peer that often sends little. A paused stream wakes its loop for each packet, a muted one does not. Muting
    /// and unmuting cost a system call each. Until ``unmuteReading()`` the peer's end is not noticed either.
    public func muteReading() {
        guard !isClosing else { return }
        pauseReading()
        // If it fails, the stream is paused all the same.
        do throws(SystemError) { try reactor.mute(self) } catch {}
    }

    /// Resumes reading after ``muteReading()``, with the bytes received in between.
    public func unmuteReading() {
        guard flags.contains(.paused) else { return }
        do throws(SystemError) {
            try reactor.update(self)
        } catch {
            return end(with: .system(error))
        }
        resumeReading()
    }

    // MARK: Groups

    /// Makes an empty group for streams of the same reactor.
    public func makeGroup() -> StreamGroup { reactor.makeGroup() }

    /// The number of groups that the stream is a member of.
    public var groupCount: Int { memberships.count }

    // Both change the memberships outside of the stream, for the reason given at `StreamGroup.change`.
    func put(_ membership: GroupMembership) {
        var memberships = exchange(&memberships, with: .none)
        memberships.put(membership)
        self.memberships = memberships
        if memberships.count > 1 { obstacles.insert(.shared) }
    }

    func removeMembership(in group: StreamGroup) -> GroupMembership? {
        var memberships = exchange(&memberships, with: .none)
        let membership = memberships.take(group)
        self.memberships = memberships
        if memberships.count <= 1 { obstacles.remove(.shared) }
        return membership
    }
}
