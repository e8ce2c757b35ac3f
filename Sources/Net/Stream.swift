import Glibc

/// A connection: bytes in both directions, plain or TLS.
///
/// Confined to its reactor's thread. It holds no buffer while nothing is under way: what arrives is
/// lent to the ``owner`` from the reactor's buffer, and what is written goes to the kernel, which
/// alone decides how much of it has to be queued here.
public final class Stream {
    /// The descriptor's number, for a log; another's once the stream is closed.
    public let fd: Int32
    let generation: UInt32
    let reactor: Reactor

    // Internal, so that the optimizer sees every access and drops the dynamic exclusivity checks; and
    // in an order without gaps, since a broker holds many of these.
    var currentOwner: any StreamOwner
    /// Bytes that wait for the kernel.
    var unsent = Unsent.nothing
    /// Bytes that the owner has not consumed.
    var unread: [UInt8] = []
    /// The encryption; nil for a plain stream, and for any that is not connected.
    var session: TLSSession?
    /// Its memberships in groups.
    var seats = Seats.none
    /// ``StreamLimits/queuedBytesMax``, of which 4 GiB are as good as no limit.
    let queuedBytesMax: UInt32
    /// The deadline of connecting, of the handshake or of closing.
    var deadline: TimerID?
    /// Unchecked is the exclusive access: closing it calls nobody.
    @exclusivity(unchecked) var descriptor: FileDescriptor?
    var phase: Phase
    var obstacles: Obstacles = [.notOpen] {
        didSet {
            guard oldValue.isEmpty != obstacles.isEmpty else { return }
            seats.forEach { $0.group.noteWhetherFree(self, at: $0) }
        }
    }
    var flags: Flags = []
    var lag = ReaderLag.none
    /// In how many batches that are being sent it is left out of a frame.
    var exclusionCount: Int32 = 0

    init(
        _ descriptor: consuming FileDescriptor,
        generation: UInt32,
        reactor: Reactor,
        limits: StreamLimits,
        owner: any StreamOwner,
        phase: Phase
    ) {
        fd = descriptor.raw
        self.descriptor = consume descriptor
        self.generation = generation
        self.reactor = reactor
        queuedBytesMax = UInt32(clamping: limits.queuedBytesMax)
        currentOwner = owner
        self.phase = phase
        // That is how the kernel tells that it is connected.
        if phase == .connecting { flags.insert(.awaitsRoom) }
        if phase == .open { obstacles = [] }
    }

    /// Where a stream is in its life; it never goes back.
    enum Phase: UInt8 {
        case connecting, handshaking, open
        /// Closing: what is queued is still written.
        case draining
        /// Closing: everything is written and the peer's end is awaited.
        case finishing
        case closed
    }

    /// Why bytes for the stream cannot simply be sent.
    struct Obstacles: OptionSet {
        let rawValue: UInt8
        /// Earlier bytes are queued.
        static let queued = Obstacles(rawValue: 1)
        /// They have to be encrypted.
        static let secure = Obstacles(rawValue: 2)
        /// It sits in several groups, whose bytes leave together.
        static let shared = Obstacles(rawValue: 4)
        /// It is left out of a frame of a batch.
        static let excluded = Obstacles(rawValue: 8)
        /// It is not open yet, or no longer.
        static let notOpen = Obstacles(rawValue: 16)
        /// It takes nothing from its groups any more; see ``Stream/detachFromGroups()``.
        static let detached = Obstacles(rawValue: 32)
    }

    struct Flags: OptionSet {
        let rawValue: UInt16
        /// The kernel said that it has bytes, or the end, for us.
        static let readable = Flags(rawValue: 1 << 0)
        /// The kernel takes bytes again.
        static let writable = Flags(rawValue: 1 << 1)
        /// The peer has ended its side: reading goes on until it is seen.
        static let hungUp = Flags(rawValue: 1 << 2)
        /// The socket has an error for us.
        static let broken = Flags(rawValue: 1 << 3)
        /// It is in the reactor's list of streams to serve.
        static let isReady = Flags(rawValue: 1 << 4)
        /// It will be flushed in this turn: it is being served, or in the reactor's list.
        static let isDirty = Flags(rawValue: 1 << 5)
        /// The kernel's buffer is full; an event will say when it no longer is.
        static let blocked = Flags(rawValue: 1 << 6)
        /// The kernel has refused bytes since the queue was last empty.
        static let refused = Flags(rawValue: 1 << 7)
        static let overflowed = Flags(rawValue: 1 << 8)
        static let paused = Flags(rawValue: 1 << 9)
        /// What is kept in `unread` is to be lent again without waiting for more.
        static let lendsAgain = Flags(rawValue: 1 << 10)
        /// The peer's end has been seen.
        static let ended = Flags(rawValue: 1 << 11)
        /// A failure has been noted and will be told in this turn.
        static let failed = Flags(rawValue: 1 << 12)
        // TLS may have to write in order to read, and to read in order to write.
        static let readsWhenWritable = Flags(rawValue: 1 << 13)
        static let writesWhenReadable = Flags(rawValue: 1 << 14)
        /// Events tell of room in the kernel's buffer too.
        static let awaitsRoom = Flags(rawValue: 1 << 15)
    }

    // MARK: For the owner

    /// Who is told what happens.
    ///
    /// A new owner is lent at once what the old one left unconsumed.
    public var owner: any StreamOwner {
        get { currentOwner }
        set {
            currentOwner = newValue
            guard !unread.isEmpty else { return }
            flags.insert(.lendsAgain)
            reactor.serve(self)
        }
    }

    /// Whether the stream has ended, or is about to be told so.
    public var isClosed: Bool { phase == .closed }

    /// Whether the stream takes no more bytes.
    public var isClosing: Bool { phase.rawValue > Phase.open.rawValue || flags.contains(.failed) }

    /// Whether the stream has been opened and takes bytes.
    public var isOpen: Bool { phase == .open && !flags.contains(.failed) }

    /// How many bytes wait for the kernel.
    public var queuedByteCount: Int { unsent.byteCount }

    /// The peer's address; nil if it has gone.
    public func remoteAddress() -> SocketAddress? {
        guard descriptor != nil else { return nil }
        return SocketAddress(of: fd) { getpeername($0, $1, &$2) }
    }

    /// Our own address; nil if the stream is closed.
    public func localAddress() -> SocketAddress? {
        guard descriptor != nil else { return nil }
        return SocketAddress(of: fd) { getsockname($0, $1, &$2) }
    }

    /// Stops lending bytes, so that the peer is held up when the kernel's buffer is full.
    ///
    /// Inside ``StreamOwner/stream(_:received:)`` what is returned as not consumed is kept.
    public func pauseReading() {
        guard !isClosing else { return }
        flags.insert(.paused)
    }

    /// Lends what the owner does not consume again in the next turn, without waiting for more.
    ///
    /// For an owner that was lent more than it should deal with in one turn, inside ``StreamOwner/stream(_:received:)``:
    /// others are served first, and nothing more is read until it has consumed this.
    public func lendAgain() {
        guard !isClosing else { return }
        flags.insert(.lendsAgain)
        reactor.serve(self)
    }

    /// Goes on after ``pauseReading()``, with what was kept.
    public func resumeReading() {
        guard flags.contains(.paused) else { return }
        flags.remove(.paused)
        if !unread.isEmpty { flags.insert(.lendsAgain) }
        // Whatever came meanwhile has made its event already, and it will not come again.
        flags.insert(.readable)
        reactor.serve(self)
    }

    /// Pauses reading, and has the kernel report nothing that arrives meanwhile.
    ///
    /// For a peer that sends little and often: a paused stream wakes its loop for each packet, a muted one does not. It
    /// costs a system call, as its end does, and also hides the peer's end until ``unmuteReading()``.
    public func muteReading() {
        guard !isClosing else { return }
        pauseReading()
        // If it fails, the stream is paused all the same.
        do throws(SystemError) { try reactor.mute(self) } catch {}
    }

    /// Goes on after ``muteReading()``, with what has arrived meanwhile.
    public func unmuteReading() {
        guard flags.contains(.paused) else { return }
        do throws(SystemError) {
            try reactor.update(self)
        } catch {
            return end(with: .system(error))
        }
        resumeReading()
    }
}
